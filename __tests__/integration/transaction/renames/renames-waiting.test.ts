/** Who answers a command's renames waits for none of its files, and lets nobody do more than he may. */

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kNodeInSandbox } from "../../support/node-arguments.js";
import { describeSandboxed, testUnless } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { openTransaction } from "../../support/transactions.js";

/** Each of its threads renames what it is told to, when it is told to. */
const kThreads = `
  const fs = require("node:fs");
  const { Worker } = require("node:worker_threads");
  const { once } = require("node:events");
  const done = [];
  const rename = (from, to) => {
    const worker = new Worker(\`const { parentPort } = require("node:worker_threads");
      parentPort.once("message", ([from, to]) => {
        try { require("node:fs").renameSync(from, to); } catch {}
        parentPort.postMessage("done");
      });\`, { eval: true });
    return { begin() { worker.postMessage([from, to]); return once(worker, "message").then(() => done.push(from)); } };
  };
`;

/** Copied by the kernel when it is renamed, which takes it a moment, and nobody else may look there. */
function withLarge(): string {
  const workspace = tempDirectory();
  mkdirSync(join(workspace, "docs"));
  writeFileSync(join(workspace, "docs/a"), "a\n");
  const part = Buffer.alloc(64 << 20, "x");
  for (let at = 0; at < 8; at += 1) writeFileSync(join(workspace, "large"), part, { flag: "a" });
  return workspace;
}

describeSandboxed("who answers renames", () => {
  // The copy of the large file holds the directory for as long as it takes, which on a fast disk is no longer than it
  // takes to start the next thread. Who waits for the directory can never answer the third rename first, however often
  // it is tried; who does not answers it first as soon as it arrives during the copy.
  test("waits for no directory that somebody holds", async () => {
    const workspace = withLarge();
    const script = `${kThreads}
      fs.mkdirSync("/tmp/own"); fs.writeFileSync("/tmp/own/here", "");
      const large = rename("large", "larger");
      const unknown = rename("never-looked-up", "there");
      const away = rename("/tmp/own/here", "/tmp/own/there");
      setTimeout(() => {
        const all = [large.begin()];
        setTimeout(() => {
          all.push(unknown.begin());
          setTimeout(() => {
            const before = [...done];
            all.push(away.begin());
            Promise.all(all).then(() => { console.log(JSON.stringify({ before, done })); process.exit(); });
          }, 20);
        }, 20);
      }, 500);`;
    const seen: { before: string[]; done: string[] }[] = [];
    const duringTheCopy = () => seen.filter(({ before }) => before.length === 0);
    const awayFirst = () => seen.some(({ done }) => done[0] === "/tmp/own/here");
    for (let attempt = 0; attempt < 10 && !awayFirst(); attempt += 1) {
      const { transaction } = await openTransaction(workspace);
      const made = await run(transaction, [...kNodeInSandbox, "-e", script]);
      expect(made).toMatchObject({ err: "", exitCode: 0 });
      seen.push(JSON.parse(made.out));
      expect([...(seen.at(-1)?.done ?? [])].sort()).toEqual([
        "/tmp/own/here",
        "large",
        "never-looked-up",
      ]);
      await transaction.discard();
    }
    // Where the copy shares its blocks it takes no time, and nobody waits.
    if (duringTheCopy().length > 0) expect(awayFirst(), JSON.stringify(seen)).toBe(true);
  });

  const kConfined = `
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
handled = ctypes.c_uint64((1 << 13) - 1)
rules = libc.syscall(444, ctypes.byref(handled), 8, 0)
if rules < 0: sys.exit("no Landlock")
if sys.argv[1] == "confined":
    if libc.syscall(446, rules, 0) != 0: sys.exit("not confined")
def attempt(what, *arguments):
    try: what(*arguments); print("done")
    except OSError as error: print(error.errno)
attempt(os.mkdir, "new")
attempt(os.rename, "docs", "docs2")`;

  const whyNo = spawnSync("python3", ["--version"]).error ? "there is no python3" : undefined;
  testUnless(whyNo, "does nothing for a process that has confined itself", async () => {
    const workspace = tempDirectory();
    mkdirSync(join(workspace, "docs"));
    writeFileSync(join(workspace, "docs/a"), "a\n");
    const { transaction } = await openTransaction(workspace);
    const rename = (how: string) => run(transaction, ["python3", "-c", kConfined, how]);
    const confined = await rename("confined");
    if (confined.err === "no Landlock") return;
    // EACCES, or EXDEV where the overlay is asked first.
    expect(confined.out).toMatch(/^13\n(13|18)$/);
    expect(await run(transaction, "ls")).toMatchObject({ out: "docs" });
    expect(await rename("free"), "the control").toMatchObject({ out: "done\ndone" });
    await transaction.discard();
  });
});
