// Starts the servers of the network's scenarios (server.mjs).

import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const kServer = fileURLToPath(new URL("./server.mjs", import.meta.url));

/** { port, securePort, close() }; on 127.0.0.1, for the name `localhost`. */
export async function openServers({ workspace, largeBytes = 0 }) {
  const directory = await mkdtemp(join(workspace, "network-"));
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(directory, name));
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const asked = ["req", "-x509", ...curve, "-nodes", "-subj", "/CN=localhost", "-days", "2"];
  await run("openssl", [...asked, "-keyout", key, "-out", cert]);
  const server = fork(kServer, [String(largeBytes), key, cert]);
  const [ports] = await once(server, "message");
  return {
    ...ports,
    async close() {
      const ended = once(server, "exit");
      server.disconnect();
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}

/** Why there can be none. */
export async function missing() {
  for (const [program, word] of [
    ["curl", "--version"],
    ["openssl", "version"],
  ]) {
    try {
      await run(program, [word]);
    } catch {
      return `there is no ${program}`;
    }
  }
  return undefined;
}
