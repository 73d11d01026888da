// As root too: whose files a lease is granted on differs for root.
/**
 * What is written through a shared mapping may leave a file's times as they are: contents decide then. On a tmpfs it
 * always may.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { BubblewrapNativeRunner } from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed, plainEnvironment } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { kBackends, openTransaction, pastTick } from "../support/transactions.js";

let tools = "";
beforeAll(() => {
  tools = tempDirectory("tools");
  buildProbe(tools);
});

const hosts: ChildProcess[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) host.kill("SIGKILL");
});

/** Where a program that maps a file is told when to write, and tells what it has done. */
function signals() {
  const directory = tempDirectory("signals");
  let at = 0;
  return {
    directory,
    /** The page is one that is written to already. */
    ready: () => expect.poll(() => existsSync(join(directory, "done-0"))).toBe(true),
    async write() {
      at += 1;
      writeFileSync(join(directory, `go-${at}`), "");
      await expect.poll(() => existsSync(join(directory, `done-${at}`))).toBe(true);
    },
  };
}

/** A program of the host's that has a file mapped, not open, and writes these texts to it, one by one. */
async function mapped(file: string, ...texts: string[]) {
  const { directory, ready, write } = signals();
  const argv = ["write-mapped", file, directory, ...texts];
  hosts.push(spawn(join(tools, "probe"), argv, { env: plainEnvironment(), stdio: "ignore" }));
  await ready();
  await pastTick();
  return write;
}

const ctimeOf = (path: string) => statSync(path, { bigint: true }).ctimeNs;

const kTmpfs = "/dev/shm";

/**
 * Writes the next text; on a tmpfs no time says so. Elsewhere a commit of another test may have written the page to
 * disk meanwhile, and the next write to it sets the times.
 */
async function unseen(path: string, write: () => Promise<void>) {
  const before = ctimeOf(path);
  await write();
  if (path.startsWith(kTmpfs)) expect(ctimeOf(path)).toBe(before);
}

const kPlaces = [
  ["the temporary directory", tmpdir()],
  ["a tmpfs", kTmpfs],
] as const;

function project(top: string): string {
  const workspace = tempDirectory("work", top);
  for (const name of ["a.txt", "b.txt"]) writeFileSync(join(workspace, name), "one\n");
  return workspace;
}

const kConflict = { code: "ERR_TRANSACTION_CONFLICT", paths: ["a.txt"] };

describe.each(kPlaces)("on %s", (_, top) => {
  describe.each(kBackends)("(%s)", (backend) => {
    const open = (workspace = project(top)) =>
      openTransaction(workspace, {}, backend, tempDirectory("state", top));

    async function resumed({ transaction, workspace, state }: Awaited<ReturnType<typeof open>>) {
      await transaction.close();
      const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      return runner.resumeTransaction(transaction.id, { directory: state });
    }

    describeSandboxed("a host's edit through a mapping", () => {
      test.each(["echo mine > a.txt", "rm a.txt", "rm a.txt; mkdir a.txt", "ln -sf b.txt a.txt"])(
        "is a conflict: %s",
        async (script) => {
          const workspace = project(top);
          const host = join(workspace, "a.txt");
          const write = await mapped(host, "HOST");
          const { transaction } = await open(workspace);
          await run(transaction, script);
          expect((await transaction.changes()).some(({ conflict }) => conflict)).toBe(false);
          await unseen(host, write);
          const changes = await transaction.changes();
          expect(changes.find(({ path }) => path === "a.txt")?.conflict).toBe(true);
          await expect(transaction.commit()).rejects.toMatchObject(kConflict);
          expect(readFileSync(host, "utf8")).toBe("HOST");
          await transaction.discard();
        },
      );

      test.each([
        ["rm -r dir"],
        ["rm -r dir; echo mine > dir"],
        ["rm -r dir; ln -s b.txt dir"],
        ["rm -r dir; mkdir dir"],
        ["rm -r dir; mkdir -p dir/below; echo mine > dir/below/other"],
        ["rm -r dir/below"],
        ["mv dir elsewhere"],
        ["touch dir/new dir/below/new", "rm -r dir"],
        ["rm -r dir", "mkdir -p dir/below"],
      ])("is a conflict below a directory that is gone: %s %s", async (...scripts) => {
        const workspace = project(top);
        mkdirSync(join(workspace, "dir/below"), { recursive: true });
        const host = join(workspace, "dir/below/a.txt");
        writeFileSync(host, "one\n");
        const write = await mapped(host, "HOST");
        const opened = await open(workspace);
        for (const script of scripts) {
          await run(opened.transaction, script);
          const before = await opened.transaction.changes();
          expect(before.filter(({ conflict }) => conflict)).toEqual([]);
        }
        await unseen(host, write);
        const changes = await opened.transaction.changes();
        expect(changes.filter(({ conflict }) => conflict).map(({ path }) => path)).toContain(
          "dir/below/a.txt",
        );
        const second = await resumed(opened);
        await expect(second.commit()).rejects.toMatchObject({ code: kConflict.code });
        expect(readFileSync(host, "utf8")).toBe("HOST");
        await second.discard();
      });

      test("is one for the next process too, and after a commit of other paths", async () => {
        const workspace = project(top);
        const host = join(workspace, "a.txt");
        const write = await mapped(host, "HOST");
        const opened = await open(workspace);
        await run(opened.transaction, "echo mine > a.txt; echo mine > b.txt");
        await opened.transaction.commit({ paths: ["b.txt"] });
        const second = await resumed(opened);
        await unseen(host, write);
        await expect(second.commit()).rejects.toMatchObject(kConflict);
        await second.discard();
      });

      test("that changes nothing is none, nor is a mapping by itself", async () => {
        const workspace = project(top);
        const host = join(workspace, "a.txt");
        const write = await mapped(host, "one\n");
        const opened = await open(workspace);
        await run(opened.transaction, "echo mine > a.txt");
        const second = await resumed(opened);
        if (top === kTmpfs) await unseen(host, write);
        await second.commit();
        expect(readFileSync(host, "utf8")).toBe("mine\n");
        await second.undo();
        expect(readFileSync(host, "utf8")).toBe("one\n");
        await second.discard();
      });

      test("of what a commit has written keeps an undo from taking it away", async () => {
        const { transaction, workspace } = await open();
        const host = join(workspace, "a.txt");
        await run(transaction, "echo mine > a.txt; echo new > new.txt");
        await transaction.commit();
        const write = await mapped(host, "HOST");
        await unseen(host, write);
        await expect(transaction.undo()).rejects.toMatchObject(kConflict);
        expect(readFileSync(host, "utf8")).toBe("HOST\n");
        await transaction.discard();
      });

      test("after an undo is a conflict", async () => {
        const workspace = project(top);
        const host = join(workspace, "a.txt");
        const write = await mapped(host, "HOST");
        const { transaction } = await open(workspace);
        await run(transaction, "echo mine > a.txt");
        await transaction.commit();
        await transaction.undo();
        await unseen(host, write);
        await expect(transaction.commit()).rejects.toMatchObject(kConflict);
        expect(readFileSync(host, "utf8")).toBe("HOST");
        await transaction.discard();
      });
    });

    describeSandboxed("a command's mapping", () => {
      const mounts = () => {
        const { directory, ready, write } = signals();
        const bound = [
          { hostPath: directory, guestPath: directory, mode: "rw" as const },
          { hostPath: tools, guestPath: "/tools", mode: "ro" as const },
        ];
        return { directory, ready, write, mounts: bound };
      };

      async function seen(texts: string) {
        const { directory, ready, write, mounts: bound } = mounts();
        const workspace = project(top);
        const state = tempDirectory("state", top);
        const { transaction } = await openTransaction(workspace, { mounts: bound }, backend, state);
        const running = run(
          transaction,
          `echo good > a.txt; /tools/probe write-mapped a.txt ${directory} ${texts}; sleep 1000`,
        );
        await ready();
        await pastTick();
        const changes = await transaction.changes({ details: true });
        const upper = join(state, transaction.id, backend === "copy" ? "tree" : "upper", "a.txt");
        return { transaction, workspace, upper, write, changes, running };
      }

      test("is not committed unseen", async () => {
        const { transaction, workspace, upper, write, changes, running } = await seen("EVIL");
        const before = ctimeOf(upper);
        await write();
        expect(readFileSync(upper, "utf8")).toBe("EVIL\n");
        const isSilent = ctimeOf(upper) === before;
        if (top === kTmpfs) expect(isSilent).toBe(true);
        const refused = expect(transaction.commit({ expected: changes })).rejects;
        await refused.toMatchObject({ code: "ERR_TRANSACTION_UNEXPECTED", paths: ["a.txt"] });
        expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("one\n");
        await transaction.commit({ expected: await transaction.changes({ details: true }) });
        expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("EVIL\n");
        await running;
        await transaction.discard();
      });

      test("that writes nothing more is what was seen", async () => {
        const { transaction, workspace, changes, running } = await seen("EVIL");
        await transaction.commit({ expected: changes });
        expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("good\n");
        await running;
        await transaction.discard();
      });
    });
  });
});
