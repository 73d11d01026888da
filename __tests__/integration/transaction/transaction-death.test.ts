/** A host that is killed leaves of its transaction what is on disk, and nothing else. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed, plainEnvironment } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { kBackends, project, stateDirectory, treeOf } from "../support/transactions.js";

const kDist = new URL("../../../dist/index.js", import.meta.url).href;

describeSandboxed("a host that is killed in a transaction", () => {
  test("leaves the changes, and no process or lock", async () => {
    const workspace = project();
    const before = treeOf(workspace);
    const state = stateDirectory();
    const mark = newMark();
    const script = `
      const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
      const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
      const transaction = await runner.openTransaction({ directory: ${JSON.stringify(state)} });
      const env = { ${kMarker}: ${JSON.stringify(mark)} };
      await transaction.exec({ argv: ["sh", "-c", "echo x > made; sleep 1000"], env });`;
    const words = [...kNodeInside, "--input-type=module", "-e", script];
    const [program = "", ...args] = words;
    const host = spawn(program, args, { env: plainEnvironment(), stdio: "ignore" });
    const made = () => readdirSync(state).map((id) => join(state, id, "upper/made"));
    await eventually("the command has begun", () => made().some(existsSync));
    expect(marked(mark), "the control").not.toEqual([]);
    const lock = join(made()[0] ?? "", "../../lock");
    const tryLock = () => spawnSync("flock", ["-n", lock, "true"]).status;
    expect(tryLock(), "the control").toBe(1);

    host.kill("SIGKILL");
    await eventually("nothing is left of it", () => marked(mark).length === 0);
    await eventually("its lock is free", () => tryLock() === 0);
    expect(made().some(existsSync)).toBe(true);
    expect(treeOf(workspace)).toEqual(before);
  });

  // stress/transactions/host-killed-in-commit has more moments, and the C++ tests have each.
  const kRounds = 5;
  const kFiles = 150;
  const kCommits = "while it commits leaves the workspace as it was, or as it is to be (%s)";
  test.each(kBackends)(
    kCommits,
    async (backend) => {
      const seen = { before: 0, after: 0, recovered: 0 };
      for (let round = 0; round < kRounds; round += 1) {
        const workspace = tempDirectory();
        for (let i = 0; i < kFiles; i += 1) writeFileSync(join(workspace, `file${i}`), "host");
        const state = stateDirectory();
        const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
        const transaction = await runner.openTransaction({ directory: state, backend });
        await run(transaction, "for i in file*; do echo mine > $i; done; touch made; rm file7");
        await transaction.close();
        const before = treeOf(workspace);
        const script = `
        const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
        const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
        const options = { directory: ${JSON.stringify(state)} };
        const transaction = await runner.resumeTransaction(${JSON.stringify(transaction.id)}, options);
        process.stdout.write("now");
        await transaction.commit();`;
        const [program = "", ...args] = [...kNodeInside, "--input-type=module", "-e", script];
        const stdio = ["ignore", "pipe", "inherit"] as const;
        const host = spawn(program, args, { env: plainEnvironment(), stdio: [...stdio] });
        const ended = once(host, "exit");
        await once(host.stdout as NodeJS.ReadableStream, "data");
        await setTimeout(round * 10);
        host.kill("SIGKILL");
        await ended;

        const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
        const left = (await resumed.changes()).length;
        expect([0, kFiles + 1]).toContain(left);
        if (left > 0) expect(treeOf(workspace), resumed.recovered).toMatchObject(before);
        else expect(readFileSync(join(workspace, `file${kFiles - 1}`), "utf8")).toBe("mine\n");
        expect((await resumed.changes()).filter(({ conflict }) => conflict)).toEqual([]);
        seen[left > 0 ? "before" : "after"] += 1;
        if (resumed.recovered) seen.recovered += 1;
        if (left > 0) await resumed.commit();
        expect(existsSync(join(workspace, "file7"))).toBe(false);
        expect(existsSync(join(workspace, "made"))).toBe(true);
        await resumed.discard();
      }
      expect(seen.before + seen.after).toBe(kRounds);
    },
    120_000,
  );
});
