/** The requests of a page with branches: what each has changed, and how one is taken, in whole or in part. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { serveReview } from "../../../lib/review/serve-review.js";
import { BubblewrapNativeRunner, type Transaction } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { project } from "../support/transactions.js";
import { Api } from "./review-server.js";
import { servedBranches } from "./served-branches.js";

type Sent = { id: string; name: string; tests?: string; state: string };

const kSteps = "1\n2\n3\n4\n5\n6\n7\n";

const kChanges = [
  "sed -i s/2/two/ steps; echo one > new",
  "sed -i s/6/six/ steps; rm gone.txt; mv b.txt moved.txt",
  "sed -i s/2/deux/ steps; echo three > new",
];

async function scene(options: Parameters<typeof servedBranches>[2] = {}) {
  const workspace = project();
  writeFileSync(join(workspace, "steps"), kSteps);
  const at = await servedBranches(workspace, kChanges, options);
  const api = new Api(at);
  const shown = async (id: string) => {
    const answer = await api.get(`changes?branch=${id}`);
    return answer.json<{ revision: number; changes: { path: string; version: string }[] }>();
  };
  const take = async (branch: Transaction, wish: object = {}) => {
    const { revision } = await shown(branch.id);
    return api.post("take", { branch: branch.id, revision, ...wish });
  };
  const text = (path: string) => at.transaction.files.readText(path);
  return { ...at, api, shown, take, text };
}

describeSandboxed("branches on a review page", () => {
  test("are listed with what each changes, and its lines and files", async () => {
    const { api, branches, shown } = await scene();
    const [one, two] = branches as [Transaction, Transaction, Transaction];
    expect((await api.get("transaction")).json()).toMatchObject({ branches: 3 });
    const listed = (await api.get("branches")).json<{ branches: Sent[]; canTakeBack: boolean }>();
    expect(listed.canTakeBack).toBe(false);
    expect(listed.branches.map(({ name, tests, state }) => [name, tests, state])).toEqual([
      ["way 1", "passed", "open"],
      ["way 2", "failed", "open"],
      [branches[2]?.id, undefined, "open"],
    ]);
    const paths = async (id: string) => (await shown(id)).changes.map(({ path }) => path);
    expect(await paths(one.id)).toEqual(["new", "steps"]);
    expect(await paths(two.id)).toEqual(["gone.txt", "moved.txt", "steps"]);
    expect((await api.changes()).length).toBe(0); // the transaction's own
    const lines = async (id: string) => (await api.get(`lines?branch=${id}`)).json();
    expect(await lines(one.id)).toEqual({ lines: { added: 2, removed: 1 } });
    await run(one, "seq 10 > new");
    expect(await lines(one.id)).toEqual({ lines: { added: 11, removed: 1 } });
    const file = async (id: string, side: string) =>
      (await api.get(`file?${new URLSearchParams({ branch: id, path: "steps", side })}`)).body;
    expect(String(await file(one.id, "before"))).toBe(kSteps);
    expect(String(await file(one.id, "after"))).toBe(kSteps.replace("2", "two"));
    expect(String(await file(two.id, "after"))).toBe(kSteps.replace("6", "six"));
    for (const path of ["changes", "lines", "file"]) {
      const reply = await api.get(`${path}?branch=abc&path=steps&side=after`);
      expect([path, reply.status, reply.json()]).toMatchObject([
        path,
        404,
        { error: { code: "ERR_REVIEW_NO_BRANCH" } },
      ]);
    }
  });

  test("one is taken whole, taken back, another is taken, and committed", async () => {
    const taken: unknown[] = [];
    const { api, branches, take, text, transaction, workspace } = await scene({
      onTaken: (branch, paths) => taken.push([branch.id, paths]),
    });
    const [one, two] = branches as [Transaction, Transaction, Transaction];
    await run(transaction, "echo own > own");
    expect((await take(one)).status).toBe(200);
    expect(await text("new")).toBe("one\n");
    await expect(transaction.files.readText("own")).rejects.toMatchObject({ code: "ENOENT" });
    expect((await api.get("branches")).json()).toMatchObject({ canTakeBack: true });
    expect((await api.post("take-back", {})).status).toBe(200);
    expect(await text("own")).toBe("own\n");
    await expect(transaction.files.readText("new")).rejects.toMatchObject({ code: "ENOENT" });
    const nothing = await api.post("take-back", {});
    expect([nothing.status, nothing.json()]).toMatchObject([
      409,
      { error: { code: "ERR_REVIEW_NOTHING_TAKEN" } },
    ]);
    expect((await take(two)).status).toBe(200);
    expect(taken).toEqual([
      [one.id, undefined],
      [two.id, undefined],
    ]);
    const files = (await api.changes()).map(({ path, version }) => ({ path, version }));
    expect((await api.post("commit", { files })).status).toBe(200);
    expect(readFileSync(join(workspace, "steps"), "utf8")).toBe(kSteps.replace("6", "six"));
    expect(existsSync(join(workspace, "new"))).toBe(false);
    expect(existsSync(join(workspace, "gone.txt"))).toBe(false);
    expect(await one.files.readText("new")).toBe("one\n"); // the others are as they were
  });

  test("files of several are merged; the same lines are refused until a person decides", async () => {
    const { branches, take, text, transaction } = await scene();
    const [one, two, three] = branches as [Transaction, Transaction, Transaction];
    expect((await take(one, { paths: ["steps"] })).json()).toEqual({ taken: ["steps"] });
    expect((await take(two, { paths: ["steps", "moved.txt", "b.txt"] })).status).toBe(200);
    const merged = kSteps.replace("2", "two").replace("6", "six");
    expect(await text("steps")).toBe(merged);
    await expect(transaction.files.readText("new")).rejects.toMatchObject({ code: "ENOENT" });
    const refused = await take(three, { paths: ["steps"] });
    expect([refused.status, refused.json()]).toMatchObject([
      409,
      { error: { code: "ERR_TRANSACTION_CONFLICT", paths: ["steps"] } },
    ]);
    expect(await text("steps")).toBe(merged);
    expect((await take(three, { paths: ["steps"], onConflict: "theirs" })).status).toBe(200);
    expect(await text("steps")).toBe(merged.replace("two", "deux"));
    expect(await text("gone.txt")).not.toBe(""); // not chosen
  });

  test("nothing is taken of a branch that is other than it was shown, or over", async () => {
    const { api, branches, shown, take, transaction } = await scene();
    const [one, two] = branches as [Transaction, Transaction, Transaction];
    const { revision } = await shown(one.id);
    await run(one, "echo later > new");
    const late = await api.post("take", { branch: one.id, revision });
    expect([late.status, late.json()]).toMatchObject([
      409,
      { error: { code: "ERR_REVIEW_BRANCH_CHANGED" } },
    ]);
    expect(await transaction.changes()).toEqual([]);
    expect((await take(one)).status).toBe(200);
    await two.discard();
    expect((await api.post("take", { branch: two.id, revision: 1 })).status).toBe(410);
    const states = (await api.get("branches")).json<{ branches: Sent[] }>().branches;
    expect(states.map(({ state }) => state)).toEqual(["open", "closed", "open"]);
    for (const wish of [{}, { branch: one.id }, { branch: one.id, revision: 1, paths: [] }]) {
      expect((await api.post("take", wish)).status, JSON.stringify(wish)).toBe(400);
    }
  });

  test("wrong options are refused by name", async () => {
    const { branches, runner, transaction } = await scene();
    const [one] = branches as [Transaction];
    const elsewhere = new BubblewrapNativeRunner({ shadowDir: project() });
    const foreign = await elsewhere.openTransaction();
    const cases: [unknown, string][] = [
      [{}, "`branches`"],
      [[{ transaction: 1 }], "`branches[0].transaction`"],
      [[{ transaction: one, nmae: "x" }], "branches[0]"],
      [[{ transaction }], "branches[0].transaction"],
      [[{ transaction: one }, { transaction: one }], "branches[1].transaction"],
      [[{ transaction: foreign }], "is of another workspace"],
      [[{ transaction: one, name: "" }], "branches[0].name"],
      [[{ transaction: one, tests: "ok" }], "branches[0].tests"],
      [Array.from({ length: 17 }, () => ({ transaction: one })), "at most 16"],
    ];
    for (const [given, named] of cases) {
      const served = serveReview({ transaction, runner, branches: given as [] });
      await expect(served, named).rejects.toThrow(named);
      await expect(served, named).rejects.toBeInstanceOf(TypeError);
    }
    await foreign.discard();
    await elsewhere.close();
  });
});
