// A host whose commands speak to a server of its own, by names that only it knows. Argument: a scenario.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { eventScenarios } from "./events.mjs";
import { scenarios } from "./scenarios.mjs";

const shadowDir = mkdtempSync(path.join(tmpdir(), "native-runner-network-"));
const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.on("data", (line) => socket.end(`hello ${line}`));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address();

/** What a shell does to reach the server by a name; it prints "hello NAME", or exits with 9. */
const reach = (name) =>
  `{ exec 3<>/dev/tcp/${name}/${port}; } 2>&- || exit 9; echo ${name} >&3; ` +
  `said=$(cat <&3); [ "$said" = "hello ${name}" ] || exit 9; echo "$said"`;
const argv = (...names) => ["bash", "-c", names.map((name) => `(${reach(name)})`).join("; ")];

/** What of a record is the same each time. */
const reported = ({ audits: [audit] }) =>
  audit.connections?.map(
    ({ host, verdict, rule = "", via }) => `${host} ${verdict} ${rule} ${via}`,
  );

try {
  const rules = { allow: [`a.test:${port}`], allowPrivate: ["127.0.0.0/8"] };
  const said = await { ...scenarios, ...eventScenarios }[process.argv[2]]({
    shadowDir,
    port,
    rules,
    reach,
    argv,
    reported,
  });
  process.stdout.write(`${JSON.stringify(said)}\n`);
} finally {
  server.close();
  rmSync(shadowDir, { recursive: true, force: true });
}
