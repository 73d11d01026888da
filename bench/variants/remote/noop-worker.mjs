// A worker of ours whose commands are none: what is left is the dispatch. Arguments: the broker's URL, a name.

import { BrokerAccess } from "../../../dist/remote/broker/broker-access.js";
import { Connection } from "../../../dist/remote/broker/connection.js";
import { Worker } from "../../../dist/remote/worker/worker.js";

const [url, name] = process.argv.slice(2);
const usage = { userCpuMs: 0, systemCpuMs: 0, peakMemoryBytes: 0 };
const audit = {
  ...{ kind: "native.exec", cmd: "bwrap", argv: ["--args", "4", "--", "/bin/true"], durationMs: 1 },
  ...{ timedOut: false, signal: null, truncatedStdout: false, truncatedStderr: false },
  ...{ runtime: "bubblewrap", layers: ["seccomp"], policyHash: "0".repeat(64), outcome: "exited" },
  ...{ usage, timing: { queueMs: 0, setupMs: 0, commandMs: 0, teardownMs: 0 }, start: "cloned" },
  ...{ prewarmed: false, kill: null },
};
const nothing = new Uint8Array(0);
const place = {
  exec: async () => ({
    ...{ exitCode: 0, stdout: nothing, stderr: nothing, truncatedStdout: false },
    ...{ truncatedStderr: false, outcome: { kind: "exited" }, stdoutBytes: 0, stderrBytes: 0 },
    ...{ usage, audits: [audit], denials: [], denialsOmitted: 0 },
  }),
};
const granted = { place, bounded: (input) => input, release: () => {} };
const connection = new Connection(new BrokerAccess({ servers: [url], insecure: true }));
await connection.open();
const places = { find: async () => granted, close: async () => {} };
new Worker({ connection, pool: "bench", name, slots: 8, places }).start();
process.stderr.write("serves\n");
process.once("SIGTERM", () => process.exit(0));
