// Faults of every kind that chaos looks for, to show that it finds them.
import { spawnSync } from "node:child_process";
import { openSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { BubblewrapNativeRunner } from "../../../../dist/index.js";
import { makeCall } from "../calls/call.mjs";
import { now } from "../judge/ledger.mjs";

export function plantFaults(ledger) {
  spawnSync("sh", ["-c", "setsid sleep 600 </dev/null >/dev/null 2>&1 &"]);
  writeFileSync(join(process.env.TMPDIR, "planted-file"), "");
  openSync("/dev/null");
  const begin = { event: "begin", expected: [{ kind: "exited", exitCode: 0 }], timeoutMs: 20_000 };
  const end = { event: "end", kind: "exited", exitCode: 0, kept: 0, written: 0 };
  ledger.write({ ...begin, call: "planted-unsettled" });
  ledger.write({ ...begin, call: "planted-twice" });
  ledger.write({ ...end, call: "planted-twice" });
  ledger.write({ ...end, call: "planted-twice" });
  ledger.write({ ...begin, call: "planted-outcome" });
  ledger.write({ ...end, call: "planted-outcome", kind: "aborted", exitCode: 130 });
  const live = { ...begin, runnerKind: "planted", hasTerminal: false };
  ledger.write({ ...live, call: "planted-write" });
  ledger.write({ ...end, call: "planted-write", faults: ["a write was never answered"] });
  // A shell session that has lost its state, and a batch that has run what it should not have.
  ledger.write({ ...begin, call: "planted-state", openedAt: 1 });
  ledger.write({
    ...end,
    call: "planted-state",
    kept: 1,
    written: 1,
    notWhole: "x",
    wrongOutput: "x",
  });
  const aborted = { kind: "aborted", exitCode: 130 };
  ledger.write({ ...begin, call: "planted-batch", inBatch: true, expected: [aborted] });
  ledger.write({
    ...end,
    call: "planted-batch",
    ...aborted,
    kept: 1,
    written: 1,
    wrongOutput: "x",
  });
  // A session whose launcher was killed, and that went on.
  const where = { runner: "planted-runner", workspace: "planted", since: now() };
  ledger.write({
    event: "struck session",
    ...where,
    refused: "its launcher was killed, then: nothing",
  });
}

/** A call that outlasts all patience: what a host that never comes to rest looks like. */
export function plantStandstill({ ledger, mark, name, workspace }) {
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace.path });
  const call = `${name}/planted-standstill`;
  const kind = "cold";
  const argv = ["sh", "-c", "sleep 600", `chaos:${mark}:${call}:${kind}`];
  const slot = { id: `${name}/planted`, kind, workspace, runner, isClosed: false };
  const plan = { command: "endless", input: { argv }, expected: [], timeoutMs: 600_000 };
  return makeCall({ ledger }, call, slot, { ...plan, throws: false });
}
