// Faults of every kind that chaos looks for, to show that it finds them.
import { spawnSync } from "node:child_process";
import { openSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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
}
