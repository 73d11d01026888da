// As root too: owners, modes and mounts differ for root.
/** What can't be a transaction is none, and says why; what stops being one runs nothing. */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import { BubblewrapNativeRunner, type TransactionOptions } from "../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { bwrapWithout } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { openTransaction, project, stateDirectory } from "../support/transactions.js";

const kDist = new URL("../../../dist/index.js", import.meta.url).href;

const opens = (options: object, shadowDir = tempDirectory()) =>
  new BubblewrapNativeRunner({ shadowDir }).openTransaction(options as TransactionOptions);

const kWrongValues: [string, object, string, string][] = [
  ["a relative directory", { directory: "state" }, "ERR_INVALID_ARG_VALUE", "`directory`"],
  ["one with ..", { directory: "/tmp/../tmp/x" }, "ERR_INVALID_ARG_VALUE", "`directory`"],
  ["no directory", { directory: "" }, "ERR_INVALID_ARG_VALUE", "`directory`"],
  ["a number", { directory: 1 }, "ERR_INVALID_ARG_TYPE", "`directory`"],
  ["a NUL byte", { directory: "/tmp/a\0b" }, "ERR_INVALID_ARG_VALUE", "`directory`"],
  ["another backend", { backend: "clone" }, "ERR_INVALID_ARG_VALUE", "`backend`"],
  ["an unknown field", { backened: "auto" }, "ERR_INVALID_ARG_VALUE", '"backened"'],
  ["null", { directory: null }, "ERR_INVALID_ARG_TYPE", "`directory`"],
];

describeSandboxed("openTransaction refuses", () => {
  test.each(kWrongValues)("%s", async (_, options, code, named) => {
    const failure = await opens(options).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(failure).toMatchObject({ code });
    expect((failure as Error).message).toContain(named);
  });

  const kPlaces: [string, (workspace: string) => string][] = [
    ["in the workspace", (workspace) => join(workspace, "state")],
    ["deep in the workspace", (workspace) => join(workspace, "a/b/c")],
    ["the workspace", (workspace) => workspace],
    ["around the workspace", (workspace) => join(workspace, "..")],
    [
      "behind a link into the workspace",
      (workspace) => {
        const link = join(tempDirectory("links"), "link");
        symlinkSync(workspace, link);
        return join(link, "state");
      },
    ],
  ];
  test.each(kPlaces)("a directory %s", async (_, place) => {
    const workspace = join(tempDirectory(), "workspace");
    mkdirSync(workspace);
    const failure = await opens({ directory: place(workspace) }, workspace).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(TypeError);
    expect((failure as Error).message).toContain("`directory`");
    const beside = `${workspace}-state`; // whose path begins like the workspace's
    await using transaction = await opens({ directory: beside }, workspace);
    expect(transaction.backend).toBe("overlay");
  });

  test("a directory that others may write to", async () => {
    const directory = stateDirectory();
    for (const mode of [0o777, 0o770, 0o702]) {
      chmodSync(directory, mode);
      await expect(opens({ directory })).rejects.toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    }
    chmodSync(directory, 0o755);
    await (await opens({ directory })).discard();
  });

  testUnless(isRoot ? undefined : "only root can give a directory away", "another's", async () => {
    const directory = stateDirectory();
    chownSync(directory, 12_345, 0);
    await expect(opens({ directory })).rejects.toMatchObject({
      code: "ERR_SANDBOX_SETUP",
      message: expect.stringContaining("another user"),
    });
  });

  test("a workspace that is missing, or no directory", async () => {
    const workspace = join(tempDirectory(), "missing");
    const setup = { code: "ERR_SANDBOX_SETUP", message: expect.stringContaining("shadowDir") };
    await expect(opens({ directory: stateDirectory() }, workspace)).rejects.toMatchObject(setup);
    writeFileSync(workspace, "");
    await expect(opens({ directory: stateDirectory() }, workspace)).rejects.toMatchObject(setup);
  });

  test("a workspace with another file system in it", () => {
    const workspace = project();
    const state = stateDirectory();
    const script = `
      const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
      const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
      const opened = runner.openTransaction({ directory: ${JSON.stringify(state)}, backend: "overlay" });
      console.log(await opened.then((made) => made.discard().then(() => "opened"), (error) => error.code + " " + error.message));`;
    const inside = (mount: string) => {
      const words = [...kNodeInside, "--input-type=module", "-e", script];
      const unshare = ["-rm", "sh", "-c", `${mount} && exec "$@"`, "sh", ...words];
      return spawnSync("unshare", unshare, { encoding: "utf8", timeout: kHungMs });
    };
    mkdirSync(join(workspace, "a b"));
    expect(inside("true")).toMatchObject({ stdout: "opened\n" });
    const refused = inside(`mount -t tmpfs none '${join(workspace, "a b")}'`).stdout;
    expect(refused).toContain("ERR_SANDBOX_UNAVAILABLE");
    expect(refused).toContain(join(workspace, "a b"));
    expect(readdirSync(state)).toEqual([]);
  });

  test("a bwrap that could bind something else than the overlay", async () => {
    const without = async (option: string) =>
      (await openTransaction(project(), { bwrapPath: bwrapWithout(option) }, "overlay"))
        .transaction;
    const old = await without("--bind-fd");
    await expect(run(old, ["true"])).rejects.toMatchObject({
      code: "ERR_SANDBOX_UNAVAILABLE",
      message: expect.stringContaining("--bind-fd"),
    });
    const good = await without("--no-such-option");
    expect(await run(good, "cat a.txt")).toMatchObject({ out: "one" });
  });
});

describeSandboxed("the default directory", () => {
  const before = process.env.XDG_STATE_HOME;
  afterEach(() => {
    if (before === undefined) delete process.env.XDG_STATE_HOME;
    else process.env.XDG_STATE_HOME = before;
  });

  test("is made for its owner alone, in the user's state", async () => {
    const home = tempDirectory("home");
    process.env.XDG_STATE_HOME = home;
    const transaction = await opens({});
    const directory = join(home, "openagentic/transactions");
    expect(readdirSync(directory)).toEqual([transaction.id]);
    for (const path of [directory, join(directory, transaction.id)]) {
      expect(statSync(path).mode & 0o777).toBe(0o700);
    }
    await transaction.discard();
  });
});

describeSandboxed("a transaction runs nothing", () => {
  test("where the workspace is another directory by now", async () => {
    const { transaction, workspace } = await openTransaction(project());
    renameSync(workspace, `${workspace}.away`);
    mkdirSync(workspace);
    const seen = await run(transaction, "echo x > made.txt");
    expect(seen).toMatchObject({ kind: "setup-failed" });
    expect(seen.err).toContain("was replaced");
    expect(readdirSync(workspace)).toEqual([]);
    renameSync(workspace, `${workspace}.other`);
    renameSync(`${workspace}.away`, workspace);
    expect(await run(transaction, "cat a.txt")).toMatchObject({ out: "one" });
  });

  test("where a mount would let commands write to its own files", async () => {
    const state = stateDirectory();
    const open = (hostPath: string, mode: "ro" | "rw") =>
      new BubblewrapNativeRunner({
        shadowDir: project(),
        prewarm: 0,
        mounts: [{ hostPath, guestPath: "/data", mode }],
      }).openTransaction({ directory: state });
    for (const place of [state, join(state, "..")]) {
      const seen = await run(await open(place, "rw"), ["true"]);
      expect(seen, place).toMatchObject({ kind: "setup-failed" });
      expect(seen.err).toContain("mounts[0]");
      expect(await run(await open(place, "ro"), ["true"])).toMatchObject({ kind: "exited" });
    }
    const beside = tempDirectory();
    const other = await run(await open(beside, "rw"), "echo x > /data/f; echo x > f; cat /data/f");
    expect(other).toMatchObject({ out: "x" });
    expect(readdirSync(beside), "a mount is no part of a transaction").toEqual(["f"]);
  });

  test("where a mount shows a place in the workspace past the overlay", async () => {
    const workspace = project();
    const inside = join(workspace, "inside");
    mkdirSync(inside);
    const mounts = [{ hostPath: inside, guestPath: "/inside", mode: "rw" }] as const;
    const { transaction, runner } = await openTransaction(workspace, { mounts: [...mounts] });
    const script = "echo x > /inside/f && cat /workspace/inside/f";
    const seen = await run(transaction, script);
    if (seen.kind === "exited") expect(seen).toMatchObject({ out: "x" });
    else expect(seen).toMatchObject({ kind: "setup-failed" });
    expect(readdirSync(inside)).toEqual([]);
    expect(await run(runner, script), "the control").toMatchObject({ out: "x" });
    expect(readdirSync(inside)).toEqual(["f"]);
  });

  test("where the workspace was moved and linked to", async () => {
    const { transaction, workspace } = await openTransaction(project());
    renameSync(workspace, `${workspace}.away`);
    symlinkSync(`${workspace}.away`, workspace);
    const seen = await run(transaction, "echo x > made.txt; cat a.txt");
    if (seen.kind === "exited") expect(seen).toMatchObject({ out: "one" });
    else expect(seen).toMatchObject({ kind: "setup-failed" });
    expect(readdirSync(workspace)).not.toContain("made.txt");
  });
});

describeSandboxed("resumeTransaction", () => {
  test("tells of what is open already, and of another workspace", async () => {
    const { transaction, runner, state } = await openTransaction(project());
    const { id } = transaction;
    const options = { directory: state };
    const again = runner.resumeTransaction(id, options);
    await expect(again).rejects.toThrow("is open already, here or in another process");
    await transaction.close();
    const other = new BubblewrapNativeRunner({ shadowDir: project(), prewarm: 0 });
    await expect(other.resumeTransaction(id, options)).rejects.toThrow("is of the workspace");
    await (await runner.resumeTransaction(id, options)).discard();
  });
});
