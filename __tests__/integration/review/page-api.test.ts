/** What the page asks of its server: changes, files, runs, commits of files and hunks, undo, discard. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withResolvers } from "../support/live-processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kBackends, project, treeOf } from "../support/transactions.js";
import { Api, ask, served } from "./review-server.js";

const textIn = (workspace: string, name: string) => readFileSync(join(workspace, name), "utf8");

describeSandboxed("a review by its server", () => {
  test("tells of the transaction, its changes, and the commands that made them", async () => {
    const at = await served(project());
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt; mkdir -p .git/hooks; echo x > .git/hooks/p");
    await new Promise((resolve) => setTimeout(resolve, 60));
    await run(at.transaction, "echo mine > b.txt; exit 3");
    expect((await api.get("transaction")).json()).toMatchObject({
      id: at.transaction.id,
      workspace: at.workspace,
      state: "open",
      canUndo: false,
      isLive: true,
    });
    const byPath = new Map((await api.changes()).map((change) => [change.path, change]));
    expect(byPath.get("a.txt")?.runs).toEqual([0]);
    expect(byPath.get("b.txt")?.runs).toEqual([1]);
    expect(byPath.get(".git/hooks/p")?.protected).toBe(true);
    const { runs } = (await api.get("runs")).json<{ runs: object[] }>();
    expect(runs).toMatchObject([
      { id: 0, outcome: "exited", exitCode: 0 },
      { id: 1, outcome: "exited", exitCode: 3, denials: [], connections: [] },
    ]);
    expect(JSON.stringify(runs[1])).toContain('"command":["sh","-c","echo mine > b.txt; exit 3"]');
  });

  test("knows the command of a change that a busy host heard of late", async () => {
    const at = await served(project());
    const ended = run(at.transaction, "echo mine > a.txt");
    const busyUntil = Date.now() + 300;
    while (Date.now() < busyUntil);
    await ended;
    expect((await new Api(at).changes()).map(({ path, runs }) => [path, runs])).toEqual([
      ["a.txt", [0]],
    ]);
  });

  test("gives both sides of a change, and of nothing else", async () => {
    const at = await served(project());
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt; rm gone.txt; echo n > new.txt; mv b.txt c.txt");
    expect((await api.file("a.txt", "before")).body.toString()).toBe("one\n");
    expect((await api.file("a.txt", "after")).body.toString()).toBe("mine\n");
    expect((await api.file("gone.txt", "before")).body.toString()).toBe("three\n");
    expect((await api.file("gone.txt", "after")).status).toBe(404);
    expect((await api.file("new.txt", "before")).status).toBe(404);
    expect((await api.file("c.txt", "before")).body.toString()).toBe("two\n");
    for (const path of ["run.sh", "../a.txt", "/etc/passwd", "", ".", "a.txt\0"]) {
      const { status, body } = await api.file(path, "before");
      expect(status, path).toBe(404);
      expect(body.toString()).not.toContain("root:");
    }
    expect((await api.file("a.txt", "middle")).status).toBe(400);
  });

  test.each(kBackends)("commits what was chosen, and undoes it (%s)", async (backend) => {
    const at = await served(project(), backend);
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt; echo mine > b.txt; rm gone.txt");
    const before = treeOf(at.workspace);
    const files = (await api.changes()).filter(({ path }) => path !== "b.txt");
    const chosen = files.map(({ path, version }) => ({ path, version }));
    const reply = await api.post("commit", { files: chosen });
    expect(reply.json()).toEqual({ committed: ["a.txt", "gone.txt"], left: 1 });
    expect(textIn(at.workspace, "a.txt")).toBe("mine\n");
    expect(existsSync(join(at.workspace, "gone.txt"))).toBe(false);
    expect((await api.changes()).map(({ path }) => path)).toEqual(["b.txt"]);
    expect((await api.get("transaction")).json()).toMatchObject({ canUndo: true });
    expect((await api.post("undo", {})).status).toBe(200);
    expect(treeOf(at.workspace)).toEqual(before);
    expect(await api.changes()).toHaveLength(3);
    expect((await api.post("undo", {})).status).toBeGreaterThanOrEqual(400);
  });

  test("commits hunks, byte for byte, and leaves the others", async () => {
    const workspace = project();
    writeFileSync(join(workspace, "odd.txt"), Buffer.from("a\r\n\xff\nc\nd", "latin1"));
    const at = await served(workspace);
    const api = new Api(at);
    await at.transaction.files.write("odd.txt", Buffer.from("A\r\n\xff\nc\nD\ne\n", "latin1"));
    const wish = async (...ranges: number[][]) => {
      const [change] = await api.changes();
      const hunks = ranges.map(([fromBefore, toBefore, fromAfter, toAfter]) => ({
        ...{ fromBefore, toBefore, fromAfter, toAfter },
      }));
      return { files: [{ path: change?.path, version: change?.version, hunks }] };
    };
    for (const ranges of [
      [[2, 1, 2, 2]],
      [[0, 9, 0, 1]],
      [[0, 1, 0, 99]],
      [
        [3, 4, 3, 5],
        [0, 1, 0, 1],
      ],
      [[-1, 1, 0, 1]],
      [[0.5, 1, 0, 1]],
    ]) {
      expect((await api.post("commit", await wish(...ranges))).status, String(ranges)).toBe(400);
    }
    expect((await api.post("commit", await wish([0, 1, 0, 1]))).status).toBe(200);
    const half = readFileSync(join(workspace, "odd.txt")).toString("latin1");
    expect(half).toBe("A\r\n\xff\nc\nd");
    expect((await api.post("commit", await wish([3, 4, 3, 6]))).status).toBe(200);
    const whole = readFileSync(join(workspace, "odd.txt")).toString("latin1");
    expect(whole).toBe("A\r\n\xff\nc\nD\ne\n");
    expect(await api.changes()).toEqual([]);
  });

  test("commits nothing that is not what was shown", async () => {
    const at = await served(project());
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt");
    const [{ path, version } = { path: "", version: "" }] = await api.changes();
    await run(at.transaction, "echo mean > a.txt");
    const reply = await api.post("commit", { files: [{ path, version }] });
    expect(reply.status).toBe(409);
    expect(reply.json()).toMatchObject({
      error: { code: "ERR_TRANSACTION_UNEXPECTED", paths: ["a.txt"] },
    });
    expect(textIn(at.workspace, "a.txt")).toBe("one\n");
  });

  test("tells of a conflict, and of what is protected, which a second word commits", async () => {
    const workspace = project();
    mkdirSync(join(workspace, ".git"));
    const at = await served(workspace);
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt; echo x > .git/config");
    const files = (await api.changes()).map(({ path, version }) => ({ path, version }));
    const refused = await api.post("commit", { files });
    expect(refused.json()).toMatchObject({
      error: { code: "ERR_TRANSACTION_PROTECTED", paths: [".git/config"] },
    });
    writeFileSync(join(workspace, "a.txt"), "host\n");
    const clash = await api.post("commit", { files, allowProtected: [".git/config"] });
    expect(clash.status).toBe(409);
    expect(clash.json()).toMatchObject({
      error: { code: "ERR_TRANSACTION_CONFLICT", paths: ["a.txt"] },
    });
    const guarded = (await api.changes()).filter(({ path }) => path === ".git/config");
    const done = await api.post("commit", {
      files: guarded.map(({ path, version }) => ({ path, version })),
      allowProtected: [".git/config"],
    });
    expect(done.json()).toMatchObject({ committed: [".git/config"] });
    expect(textIn(workspace, "a.txt")).toBe("host\n");
  });

  test.each([
    ["no object", "[]"],
    ["no JSON", "{"],
    ["no files", "{}"],
    ["an empty list", '{"files":[]}'],
    ["an unknown field", '{"files":[{"path":"a.txt","version":"1"}],"force":true}'],
    [
      "a field of a prototype",
      '{"files":[{"path":"a.txt","version":"1","__proto__":{"x":1}}],"y":1}',
    ],
    ["a path of another type", '{"files":[{"path":7,"version":"1"}]}'],
    ["an empty list of hunks", '{"files":[{"path":"a.txt","version":"1","hunks":[]}]}'],
  ])("refuses a commit with %s, by name, and commits nothing", async (_, body) => {
    const at = await served(project());
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt");
    const reply = await ask(at.base, `${at.base.pathname}api/commit`, { method: "POST", body });
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({ error: { code: "ERR_REVIEW_BODY" } });
    expect(textIn(at.workspace, "a.txt")).toBe("one\n");
    const files = (await api.changes()).map(({ path, version }) => ({ path, version }));
    expect((await api.post("commit", { files })).status).toBe(200);
  });

  test("discards, and says so from then on", async () => {
    const at = await served(project());
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt");
    expect((await api.post("discard", {})).status).toBe(200);
    expect((await api.get("transaction")).json()).toMatchObject({ state: "discarded" });
    expect((await api.get("changes")).status).toBe(410);
    expect(textIn(at.workspace, "a.txt")).toBe("one\n");
    expect(await at.runner.transactions({ directory: at.state })).toEqual([]);
  });

  test("is discarded, not closed, to whoever looks while it is being discarded", async () => {
    const at = await served(project());
    const { transaction } = at;
    const api = new Api(at);
    await run(transaction, "echo mine > a.txt");
    const [gone, looked, goes] = [withResolvers(), withResolvers(), withResolvers()];
    const discard = transaction.discard.bind(transaction);
    const changes = transaction.changes.bind(transaction);
    transaction.discard = async () => {
      await discard();
      gone.resolve();
      await goes.promise;
    };
    transaction.changes = async () => {
      const failure = await changes().catch((error: unknown) => error);
      looked.resolve();
      throw failure;
    };
    const discarded = api.post("discard", {});
    await gone.promise;
    const seen = api.get("changes");
    await looked.promise;
    expect((await api.get("transaction")).json()).toMatchObject({ state: "open" });
    goes.resolve();
    expect((await discarded).status).toBe(200);
    expect((await seen).status).toBeGreaterThanOrEqual(400);
    expect((await api.get("transaction")).json()).toMatchObject({ state: "discarded" });
  });

  test("says when it was closed by whoever has opened it", async () => {
    const at = await served(project());
    const api = new Api(at);
    await run(at.transaction, "echo mine > a.txt");
    await at.transaction.close();
    expect((await api.get("changes")).status).toBeGreaterThanOrEqual(400);
    expect((await api.get("transaction")).json()).toMatchObject({ state: "closed" });
  });

  test("what is too large to be shown is told as that", async () => {
    const at = await served(project());
    const api = new Api(at);
    await run(at.transaction, "head -c 17000000 /dev/zero > large.bin");
    const reply = await api.file("large.bin", "after");
    expect(reply.status).toBe(413);
    expect(reply.json()).toMatchObject({ error: { code: "ERR_REVIEW_TOO_LARGE" } });
  });
});
