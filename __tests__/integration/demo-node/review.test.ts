/** /review: a page of the conversation's transaction, and what is done there reaches the conversation. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { ask, type Reply } from "../review/review-server.js";
import { describeSandboxed } from "../support/requirements.js";
import { kBwrap, startDemo } from "./support/run-demo.js";
import { makeProject } from "./support/tree.js";

const post = (base: URL, path: string, body: object): Promise<Reply> =>
  ask(base, `${base.pathname}api/${path}`, { method: "POST", body: JSON.stringify(body) });

type Shown = { path: string; version: string };

describeSandboxed("demo-node's /review", () => {
  test("commits, undoes and discards; the conversation goes on", async () => {
    const project = makeProject({ a: "one\n" });
    const demo = await startDemo({
      project,
      turns: [
        { calls: [{ script: "echo two > a; echo new > b" }] },
        { text: "First." },
        { calls: [{ script: "cat a; ls; echo three > c" }] },
        { text: "Second." },
      ],
      env: kBwrap,
      input: null,
    });
    const { child, said } = demo;
    child.stdin.write("change it\n");
    await eventually("it has answered", () => said().includes("First."));
    child.stdin.write("/review\n");
    await eventually("it serves", () => /http:\S+\//.test(said()));
    const base = new URL(/http:\S+\//.exec(said())?.[0] ?? "");
    const changes = async () =>
      (await ask(base, `${base.pathname}api/changes`)).json<{ changes: Shown[] }>().changes;
    const [first] = await changes();
    const files = [{ path: "a", version: first?.version }];
    expect((await post(base, "commit", { files })).json()).toEqual({ committed: ["a"], left: 1 });
    expect(readFileSync(join(project, "a"), "utf8")).toBe("two\n");
    expect((await post(base, "undo", {})).status).toBe(200);
    expect(readFileSync(join(project, "a"), "utf8")).toBe("one\n");
    expect(await changes()).toHaveLength(2);
    expect((await post(base, "discard", {})).status).toBe(200);
    child.stdin.write("and on\n");
    await eventually("it goes on", () => said().includes("Second."));
    child.stdin.end("/status\n/exit\n/exit\n");
    const { code, out, left, answers } = await demo.ended;
    expect(answers[1]).toBe("one\na\n[exit code 0]"); // as if nothing had been
    expect(out).toContain("A c");
    expect({ code, left }).toEqual({ code: 0, left: [] });
  });
});
