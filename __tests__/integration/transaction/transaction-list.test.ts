// As root too: owners, modes and mounts differ for root.
/** `transactions()`: what lies in a directory, whatever else does, and that a look changes nothing. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import { BubblewrapNativeRunner, SandboxError } from "../support/package.js";
import {
  describeSandboxed,
  isRoot,
  plainEnvironment,
  testUnless,
} from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { openTransaction, project, stateDirectory, treeOf } from "../support/transactions.js";

const kDist = new URL("../../../dist/index.js", import.meta.url).href;

const anyRunner = () => new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
const list = (directory: string) => anyRunner().transactions({ directory });
/** The one in a directory, once its host's lock is free. */
const closed = (state: string) =>
  eventually("it is closed", async () => {
    const [listed] = await list(state);
    return listed?.state === "closed" && listed;
  });
const kRecord = "version=1\0id=";

describeSandboxed("transactions()", () => {
  test("tells of those that are open, of those that were closed, and of no other", async () => {
    const before = Date.now();
    const { state, transaction, workspace, runner } = await openTransaction();
    const other = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
    const second = await other.openTransaction({ directory: state });
    const gone = await other.openTransaction({ directory: state });
    await gone.discard();
    await second.close();
    const listed = await runner.transactions({ directory: state });
    expect(listed).toEqual([
      {
        id: transaction.id,
        workspace,
        createdAt: expect.any(Date),
        backend: "overlay",
        state: "open",
      },
      {
        id: second.id,
        workspace: other.shadowDir,
        createdAt: expect.any(Date),
        backend: "overlay",
        state: "closed",
      },
    ]);
    const [first] = listed;
    expect(first?.createdAt.getTime()).toBeGreaterThanOrEqual(before - 1);
    expect(first?.createdAt.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await list(state)).toEqual(listed);
    await transaction.discard();
    const [left, ...more] = await list(state);
    expect(left?.id).toBe(second.id);
    expect(more).toEqual([]);
  });

  test("tells that something was committed, for as long as that can be taken back", async () => {
    const { state, transaction, runner } = await openTransaction(project());
    await run(transaction, "echo new > a.txt");
    const [waiting] = await list(state);
    expect(waiting).not.toHaveProperty("committed");
    await transaction.commit();
    await transaction.close();
    expect(await list(state)).toMatchObject([{ state: "closed", committed: true }]);
    const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
    await resumed.undo();
    const [undone] = await list(state);
    expect(undone).not.toHaveProperty("committed");
    await resumed.discard();
  });

  test("tells of one whose host is alive elsewhere, and then of one whose host is dead", async () => {
    const state = stateDirectory();
    const workspace = project();
    const script = `
      const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
      const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
      await runner.openTransaction({ directory: ${JSON.stringify(state)} });
      process.stdout.write("opened");
      setInterval(() => {}, 1000);`;
    const [program = "", ...args] = [...kNodeInside, "--input-type=module", "-e", script];
    const stdio = ["ignore", "pipe", "inherit"] as const;
    const host = spawn(program, args, { env: plainEnvironment(), stdio: [...stdio] });
    const ended = once(host, "exit");
    await once(host.stdout as NodeJS.ReadableStream, "data");
    expect(await list(state)).toMatchObject([{ workspace, state: "open" }]);
    host.kill("SIGKILL");
    await ended;
    await closed(state);
  });

  test("has nothing of a directory that is missing, and does not make it", async () => {
    const missing = join(tempDirectory("state"), "a/b");
    expect(await list(missing)).toEqual([]);
    expect(existsSync(join(missing, ".."))).toBe(false);
  });

  test("passes over what is no whole transaction, and follows no link", async () => {
    const { state, transaction } = await openTransaction();
    const good = join(state, transaction.id);
    const elsewhere = tempDirectory("elsewhere");
    const copies = new Map<string, (at: string) => void>([
      ["000000000000", () => {}],
      ["000000000001", (at) => writeFileSync(join(at, "record"), "")],
      ["000000000002", (at) => writeFileSync(join(at, "record"), kRecord)],
      [
        "000000000003",
        (at) => writeFileSync(join(at, "record"), readFileSync(join(good, "record"))),
      ],
      ["000000000004", (at) => mkdirSync(join(at, "record"))],
      ["000000000005", (at) => symlinkSync(join(good, "record"), join(at, "record"))],
      [
        "000000000006",
        (at) => {
          const text = readFileSync(join(good, "record"), "latin1");
          const own = text.replace(transaction.id, "000000000006");
          writeFileSync(join(at, "record"), own, "latin1"); // without a lock
        },
      ],
      ["discarded-00000000000a", () => {}],
      ["NOT-AN-ID", () => {}],
    ]);
    for (const [name, fill] of copies) {
      mkdirSync(join(state, name));
      fill(join(state, name));
    }
    writeFileSync(join(state, "000000000007"), "a file");
    symlinkSync(good, join(state, "000000000008"));
    symlinkSync("/nonexistent", join(state, "000000000009"));
    // The control: the same record, in a directory of its name that has a lock, is one.
    mkdirSync(join(state, "00000000000b"));
    const text = readFileSync(join(good, "record"), "latin1");
    const own = text.replace(transaction.id, "00000000000b");
    writeFileSync(join(state, "00000000000b/record"), own, "latin1");
    writeFileSync(join(state, "00000000000b/lock"), "");
    renameSync(join(state, "00000000000b"), join(elsewhere, "moved"));
    symlinkSync(join(elsewhere, "moved"), join(state, "00000000000b"));
    expect((await list(state)).map(({ id }) => id)).toEqual([transaction.id]);
    rmSync(join(state, "00000000000b"));
    renameSync(join(elsewhere, "moved"), join(state, "00000000000b"));
    const ids = (await list(state)).map(({ id }) => id);
    expect(ids.sort()).toEqual(["00000000000b", transaction.id].sort());
    await transaction.discard();
  });

  test("changes nothing, and disturbs nobody who opens one meanwhile", async () => {
    const { state, transaction, runner } = await openTransaction(project());
    await run(transaction, "echo new > a.txt");
    await transaction.close();
    const directory = join(state, transaction.id);
    // Of overlayfs' own directory nothing can be read.
    const look = () => [
      readdirSync(state),
      treeOf(join(directory, "upper")),
      readdirSync(directory).map((name) => [name, statSync(join(directory, name)).ctimeMs]),
      readFileSync(join(directory, "record"), "latin1"),
    ];
    const before = look();
    await Promise.all(Array.from({ length: 20 }, () => list(state)));
    expect(look()).toEqual(before);
    let listing = true;
    const lists = Promise.all(
      [1, 2, 3].map(async () => {
        while (listing) await list(state);
      }),
    );
    for (let round = 0; round < 10; round += 1) {
      const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
      await resumed.close();
    }
    listing = false;
    await lists;
    await (await runner.resumeTransaction(transaction.id, { directory: state })).discard();
  }, 60_000);

  test("refuses a directory that others may write to, or is another's", async () => {
    const state = stateDirectory();
    chmodSync(state, 0o777);
    const failure = await list(state).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SandboxError);
    expect(failure).toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    chmodSync(state, 0o700);
    expect(await list(state)).toEqual([]);
  });

  testUnless(
    isRoot ? undefined : "only root can give a file away",
    "refuses another's",
    async () => {
      const state = stateDirectory();
      chownSync(state, 12345, 12345);
      await expect(list(state)).rejects.toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    },
  );

  test.each([
    ["a relative path", { directory: "state" }, "ERR_INVALID_ARG_VALUE"],
    ["one with ..", { directory: "/tmp/../tmp" }, "ERR_INVALID_ARG_VALUE"],
    ["a number", { directory: 1 }, "ERR_INVALID_ARG_TYPE"],
    ["an unknown field", { backend: "auto" }, "ERR_INVALID_ARG_VALUE"],
  ])("refuses %s", async (_, options, code) => {
    const failure = await anyRunner()
      .transactions(options as never)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(failure).toMatchObject({ code });
  });
});

describeSandboxed("what is told of a commit in which a host has died", () => {
  test("is what the one that resumes it is told", async () => {
    const reported: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      const workspace = mkdtempSync(join(tempDirectory(), "w-"));
      for (let i = 0; i < 300; i += 1) writeFileSync(join(workspace, `file${i}`), "host");
      const { state, transaction, runner } = await openTransaction(workspace);
      await run(transaction, "for i in file*; do echo mine > $i; done");
      await transaction.close();
      const script = `
        const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
        const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
        const options = { directory: ${JSON.stringify(state)} };
        const resumed = await runner.resumeTransaction(${JSON.stringify(transaction.id)}, options);
        process.stdout.write("now");
        await resumed.commit();
        setInterval(() => {}, 1000);`;
      const [program = "", ...args] = [...kNodeInside, "--input-type=module", "-e", script];
      const stdio = ["ignore", "pipe", "inherit"] as const;
      const host = spawn(program, args, { env: plainEnvironment(), stdio: [...stdio] });
      const ended = once(host, "exit");
      await once(host.stdout as NodeJS.ReadableStream, "data");
      // By what it has done, and not by the time: with the plan there, the commit is under way.
      const plan = join(state, transaction.id, "commit/plan");
      const done = join(state, transaction.id, "commit/done");
      await eventually("it has begun", () => existsSync(plan) || existsSync(done));
      host.kill("SIGKILL");
      await ended;

      const listed = await closed(state);
      const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
      expect(resumed.recovered).toBe(listed.recovered);
      reported.push(resumed.recovered ?? "nothing");
      await resumed.discard();
    }
    expect(reported.filter((each) => each !== "nothing")).not.toEqual([]);
  }, 120_000);

  test("is torn where what could not be put back is still there", async () => {
    const { state, transaction, runner } = await openTransaction(project());
    await run(transaction, "echo new > a.txt");
    await transaction.close();
    const commit = join(state, transaction.id, "commit");
    mkdirSync(commit);
    writeFileSync(join(commit, "torn"), "");
    expect(await list(state)).toMatchObject([{ state: "torn", recovered: "torn" }]);
    const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(resumed.recovered).toBe("torn");
    expect(await list(state)).toMatchObject([{ state: "open", recovered: "torn" }]);
    await resumed.close();
    rmSync(commit, { recursive: true });
    expect(await list(state)).toEqual([expect.not.objectContaining({ recovered: "torn" })]);
  });
});
