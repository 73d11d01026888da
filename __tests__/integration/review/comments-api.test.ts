/** Comments by the page's server, and as its host gets them. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { type ReviewComment, serveReview } from "../../../lib/review/serve-review.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { openTransaction, project } from "../support/transactions.js";
import { ask, type Reply, served } from "./review-server.js";

const kLine = { path: "a.txt", side: "after", line: 1, lineText: "mine", text: "why?" };

async function reviewed() {
  const { transaction, runner, workspace } = await openTransaction(project());
  const events: [string, string, boolean][] = [];
  let settled = 0;
  const review = await serveReview({
    transaction,
    runner,
    onComment: ({ text, isOutdated }, event) => events.push([event, text, isOutdated]),
    onSettled: () => {
      settled += 1;
    },
  });
  onTestFinished(async () => {
    await review.close();
    await runner.close();
  });
  const base = new URL(review.url);
  const send = (method: string, body: unknown, headers = {}): Promise<Reply> =>
    ask(base, `${base.pathname}api/comments`, {
      method,
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { origin: base.origin, "content-type": "application/json", ...headers },
    });
  const listed = async () =>
    (await ask(base, `${base.pathname}api/comments`)).json<{ comments: ReviewComment[] }>()
      .comments;
  return { transaction, workspace, review, events, send, listed, settled: () => settled };
}

describeSandboxed("comments", () => {
  test("are written, changed, resolved and deleted, and the host is told", async () => {
    const { transaction, review, events, send, listed, settled } = await reviewed();
    await run(transaction, "echo mine > a.txt; rm gone.txt; echo n > new.txt");
    const [one, other] = [
      await send("POST", kLine),
      await send("POST", { path: "gone.txt", side: "before", text: "why is it gone?" }),
    ].map((reply) => reply.json<ReviewComment>());
    expect(one).toMatchObject({ ...kLine, isResolved: false, isOutdated: false });
    const { id } = one ?? { id: "" };
    await send("PATCH", { id, text: "why, please?" });
    await send("PATCH", { id, isResolved: true });
    expect(await listed()).toEqual([{ ...one, text: "why, please?", isResolved: true }, other]);
    expect(await review.comments()).toEqual(await listed());
    expect(Object.isFrozen((await review.comments())[0])).toBe(true);
    expect((await send("DELETE", { id })).status).toBe(200);
    expect((await send("DELETE", { id })).status).toBe(404);
    expect((await send("PATCH", { id, text: "x" })).json()).toMatchObject({
      error: { code: "ERR_REVIEW_NO_COMMENT" },
    });
    expect(await review.comments()).toEqual([other]);
    await expect
      .poll(() => events.map(([event, text]) => `${event}: ${text}`))
      .toEqual([
        "added: why?",
        "added: why is it gone?",
        "changed: why, please?",
        "changed: why, please?",
        "deleted: why, please?",
      ]);
    expect(settled()).toBe(0);
  });

  test("know whether their line has changed, on both sides, and never move", async () => {
    const { transaction, workspace, review, events, send } = await reviewed();
    await run(transaction, "printf 'mine\\nmore\\n' > a.txt");
    await send("POST", kLine);
    await send("POST", { ...kLine, line: 2, lineText: "more", text: "more of it" });
    await send("POST", { ...kLine, side: "before", lineText: "one", text: "was good" });
    const outdated = async () =>
      (await review.comments()).map(({ text, isOutdated }) => (isOutdated ? `(${text})` : text));
    expect(await outdated()).toEqual(["why?", "more of it", "was good"]);
    await run(transaction, "printf 'new\\nmore\\n' > a.txt");
    await expect.poll(() => events.at(-1)).toEqual(["changed", "why?", true]); // nobody has asked
    expect(await outdated()).toEqual(["(why?)", "more of it", "was good"]);
    writeFileSync(join(workspace, "a.txt"), "host\n");
    expect(await outdated()).toEqual(["(why?)", "more of it", "(was good)"]);
    await run(transaction, "printf 'mine\\nmore\\n' > a.txt");
    expect(await outdated()).toEqual(["why?", "more of it", "(was good)"]);
    expect(await review.comments()).toMatchObject([
      { line: 1, lineText: "mine" },
      { line: 2, lineText: "more" },
      { line: 1, lineText: "one", side: "before" },
    ]);
  });

  test("outlive the transaction, as they were last", async () => {
    const { transaction, review, send } = await reviewed();
    await run(transaction, "echo mine > a.txt");
    await send("POST", kLine);
    await transaction.discard();
    expect(await review.comments()).toMatchObject([{ text: "why?" }]);
  });

  test.each<[string, number, object, RegExp]>([
    ["without a text", 400, { ...kLine, text: undefined }, /text/],
    ["with a blank text", 400, { ...kLine, text: "\n " }, /^text: /],
    ["with too long a text", 400, { ...kLine, text: "x".repeat(16_385) }, /^text: /],
    ["with too long a line", 400, { ...kLine, lineText: "x".repeat(1001) }, /^lineText: /],
    ["on line 0", 400, { ...kLine, line: 0 }, /^line: /],
    ["on half a line", 400, { ...kLine, line: 1.5 }, /^line: /],
    ["on a line without its text", 400, { ...kLine, lineText: undefined }, /^lineText: /],
    ["on another side", 400, { ...kLine, side: "middle" }, /^side: /],
    ["on a side that has no file", 400, { ...kLine, path: "new.txt", side: "before" }, /^side: /],
    ["on what is no change", 404, { ...kLine, path: "b.txt" }, /^path: /],
    ["on a path outside", 404, { ...kLine, path: "../a.txt" }, /^path: /],
    ["with a field of its own", 400, { ...kLine, id: "c1" }, /id/],
  ])("one %s is refused, by name", async (_, status, body, message) => {
    const { transaction, review, send } = await reviewed();
    await run(transaction, "echo mine > a.txt; echo n > new.txt");
    const reply = await send("POST", body);
    expect(reply.status).toBe(status);
    expect(reply.json<{ error: { message: string } }>().error.message).toMatch(message);
    expect(await review.comments()).toEqual([]);
    expect((await send("POST", kLine)).status).toBe(200);
    expect(await review.comments()).toHaveLength(1);
  });

  test("misuse of the library is told by name", async () => {
    const { transaction, runner } = await openTransaction(project());
    const wrong = { transaction, runner, onComment: 7 } as never;
    await expect(serveReview(wrong)).rejects.toThrow(/onComment/);
    await transaction.discard();
    await runner.close();
  });

  test("reach all open pages as an event", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt");
    const { base } = at;
    const stop = new AbortController();
    const events = await fetch(new URL("api/events", base), { signal: stop.signal });
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
    const path = `${base.pathname}api/comments`;
    expect((await ask(base, path, { method: "POST", body: JSON.stringify(kLine) })).status).toBe(
      200,
    );
    let said = "";
    while (!said.includes("event: comments")) said += (await reader?.read())?.value ?? "";
    stop.abort();
  });
});
