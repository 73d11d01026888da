/** Whoever renames, races with it, kills it or is killed in it: nothing is lost, and nothing else is touched. */

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { tree } from "../../support/mounts.js";
import { kNodeInSandbox } from "../../support/node-arguments.js";
import type { Transaction } from "../../support/package.js";
import { describeSandboxed } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { openTransaction, treeOf } from "../../support/transactions.js";

const script = (text: string) => [...kNodeInSandbox, "-e", `const fs = require("node:fs");${text}`];

/** Directories of files: "d0/s/0" and so on. */
function filled(directories: number, files: number): string {
  const workspace = tempDirectory();
  for (let at = 0; at < directories; at += 1) {
    mkdirSync(join(workspace, `d${at}/s`), { recursive: true });
    for (let file = 0; file < files; file += 1) {
      writeFileSync(join(workspace, `d${at}/s/${file}`), `${at}/${file}\n`);
    }
  }
  return workspace;
}

/** How many files a command sees, each by its contents, and what has a name of ours. */
const kCount = "cat $(find . -type f) /dev/null | sort -u | wc -l; find . -name '.renaming-*'";

/** Files are where they were or elsewhere, but all there, on the host too. */
async function expectAllThere(transaction: Transaction, count: number): Promise<void> {
  expect(await run(transaction, kCount)).toMatchObject({ out: String(count), exitCode: 0 });
}

describeSandboxed("a directory that is renamed in a transaction", () => {
  test.each([[{}], [{ layers: ["landlock"] as const }]])(
    "leads nowhere else where links are swapped in, with %j",
    async (options) => {
      const kDirectories = 40;
      const outside = tree({ "in/0": "outside\n", "in/mine": "outside\n", "0": "outside\n" });
      const workspace = filled(kDirectories, 3);
      const before = treeOf(workspace);
      const { transaction } = await openTransaction(workspace, {
        mounts: [{ hostPath: outside, mode: "rw" }],
        ...options,
      });
      await run(transaction, `touch ${outside}/control`);
      expect(readdirSync(outside), "the control: it could be written to").toContain("control");
      const theirs = treeOf(outside);

      // One thread renames each directory, three others put links in the place of it and its own.
      const made = await run(
        transaction,
        script(`
          const { Worker } = require("node:worker_threads");
          const swap = (path, target) => {
            const attempt = (what) => { try { what(); } catch {} };
            attempt(() => {
              fs.renameSync(path, path + ".aside");
              fs.symlinkSync(target, path);
            });
            attempt(() => fs.unlinkSync(path));
            attempt(() => fs.renameSync(path + ".aside", path));
          };
          const moment = new Int32Array(new SharedArrayBuffer(4));
          const shared = new Int32Array(new SharedArrayBuffer(8));
          const body = \`
            const fs = require("node:fs");
            const { workerData: { shared, which } } = require("node:worker_threads");
            const swap = \${swap};
            const moment = new Int32Array(new SharedArrayBuffer(4));
            const [outer, inner] = ["", "/in"].map((name) => ${JSON.stringify(outside)} + name);
            Atomics.add(shared, 1, 1);
            for (let at = 0; (at = Atomics.load(shared, 0)) >= 0; ) {
              swap(["d" + at + "/s", "d" + at, "to"][which], which === 0 ? inner : outer);
              Atomics.wait(moment, 0, 0, 2);
            }\`;
          fs.mkdirSync("to");
          const workers = [0, 1, 2].map(
            (which) => new Worker(body, { eval: true, workerData: { shared, which } }));
          const reported = {};
          const next = () => {
            if (Atomics.load(shared, 1) < 3) return setTimeout(next, 10);
            for (let at = 0; at < ${kDirectories}; at += 1) {
              Atomics.store(shared, 0, at);
              for (let tries = 0; tries < 100; tries += 1) {
                let how = "done";
                try { fs.renameSync("d" + at, "to/d" + at); } catch (error) { how = error.code; }
                reported[how] = (reported[how] ?? 0) + 1;
                if (how === "done") break;
                Atomics.wait(moment, 0, 0, 1);
              }
            }
            Atomics.store(shared, 0, -1);
          };
          next();
          Promise.all(workers.map((worker) => new Promise((end) => worker.on("exit", end))))
            .then(() => console.log(JSON.stringify(reported)));`),
      );
      expect(made).toMatchObject({ err: "", exitCode: 0 });
      expect(JSON.parse(made.out).done, made.out).toBeGreaterThan(0);
      expect(treeOf(outside)).toEqual(theirs);
      expect(treeOf(workspace)).toEqual(before);
      await expectAllThere(transaction, kDirectories * 3);
      await transaction.discard();
    },
    120_000,
  );

  test("is put back where it is killed that moves it", async () => {
    const kFiles = 200;
    const kMostTurns = 800;
    const workspace = filled(8, kFiles);
    const { transaction } = await openTransaction(workspace);
    const made = await run(
      transaction,
      script(`
        const { Worker } = require("node:worker_threads");
        const shared = new Int32Array(new SharedArrayBuffer(8));
        const worker = new Worker(\`
          const fs = require("node:fs");
          const { workerData: shared } = require("node:worker_threads");
          Atomics.store(shared, 1, 1);
          while (Atomics.load(shared, 0) === 0) {
            for (const pid of fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
              try {
                const name = fs.readFileSync("/proc/" + pid + "/comm", "utf8");
                if (pid !== "1" && name === "launcher\\\\n") process.kill(Number(pid), "SIGKILL");
              } catch {}
            }
          }\`, { eval: true, workerData: shared });
        const reported = {};
        const paths = Array.from({ length: 8 }, (_, at) => "d" + at);
        const next = () => {
          if (Atomics.load(shared, 1) === 0) return setTimeout(next, 10);
          // To and fro until one was killed that moves: some are killed earlier, at the look-up (EXDEV).
          for (let turn = 0; turn < ${kMostTurns} && (turn < 8 || reported.EIO === undefined); turn += 1) {
            const path = paths[turn % 8];
            const to = (path[0] === "d" ? "e" : "d") + path[1];
            let how = "done";
            try { fs.renameSync(path, to); paths[turn % 8] = to; } catch (error) { how = error.code; }
            reported[how] = (reported[how] ?? 0) + 1;
          }
          Atomics.store(shared, 0, 1);
        };
        next();
        worker.on("exit", () => console.log(JSON.stringify(reported)));`),
      { limits: { timeoutMs: 110_000 } },
    );
    expect(made).toMatchObject({ err: "", exitCode: 0, kind: "exited" });
    expect(JSON.parse(made.out)).toMatchObject({ EIO: expect.any(Number) });
    await expectAllThere(transaction, 8 * kFiles);
    await transaction.discard();
  }, 120_000);

  test("is renamed as a whole where its caller is killed meanwhile", async () => {
    const kFiles = 300;
    const { transaction } = await openTransaction(filled(1, kFiles));
    const made = await run(
      transaction,
      script(`
        const { spawn } = require("node:child_process");
        const child = spawn(process.execPath, ["-e", 'require("node:fs").renameSync("d0", "e0")']);
        const has = (name) => fs.readdirSync(".").some((each) => each.startsWith(name));
        const wait = () => {
          if (!has(".renaming-") && !has("e0")) return setImmediate(wait);
          console.log(has(".renaming-") && child.kill("SIGKILL") ? "killed" : "too late");
          child.on("exit", (_, signal) => console.log(signal));
          const done = () => (has(".renaming-") || has("d0") ? setTimeout(done, 5) : null);
          done();
        };
        wait();`),
    );
    expect(made).toMatchObject({ err: "", out: "killed\nSIGKILL", exitCode: 0 });
    const look = "ls; ls e0/s | wc -l";
    expect(await run(transaction, look)).toMatchObject({ out: `e0\n${kFiles}` });
    await transaction.discard();
  });

  test("is all there after a deadline in the middle", async () => {
    const kFiles = 120;
    const { transaction } = await openTransaction(filled(12, kFiles));
    const text = `
      for (let at = 0; at < 12; at += 1)
        try { fs.renameSync("d" + at + "/s", "d" + at + "/t"); } catch {}
      setInterval(() => {}, 1000);`;
    for (const timeoutMs of [600, 700, 800]) {
      const ended = await run(transaction, script(text), { limits: { timeoutMs } });
      expect(ended).toMatchObject({ kind: "timed-out" });
    }
    const { out } = await run(transaction, "cat $(find . -type f) /dev/null | sort -u | wc -l");
    expect(out).toBe(String(12 * kFiles));
    await transaction.discard();
  }, 60_000);

  test("is one of many at once", async () => {
    const kMany = 60;
    const { transaction } = await openTransaction(filled(kMany, 5));
    const made = await run(
      transaction,
      script(`
        const all = Array.from({ length: ${kMany} }, (_, at) =>
          fs.promises.rename("d" + at, "e" + at));
        fs.writeFileSync("f", "f");
        all.push(...Array.from({ length: 50 }, (_, at) => fs.promises.mkdir("m" + at)
          .then(() => fs.promises.rename("m" + at, "n" + at))));
        Promise.all(all).then(() => console.log(fs.readdirSync(".").length));`),
      { env: { UV_THREADPOOL_SIZE: "64" } },
    );
    expect(made).toMatchObject({ err: "", out: String(kMany + 51), exitCode: 0 });
    await transaction.discard();
  });
});
