/** A host that is killed leaves of its transaction what is on disk, and nothing else. */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { describeSandboxed, plainEnvironment } from "../support/gate.js";
import { kNodeInside } from "../support/node.js";
import { eventually, kMarker, marked, newMark } from "../support/processes.js";
import { project, stateDirectory, treeOf } from "../support/transactions.js";

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
});
