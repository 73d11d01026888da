// The same download through a C program that does nothing but splice(2) (splice-floor.c).

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { compiled } from "../../compiled.mjs";
import { fetchHere } from "./curl.mjs";
import { kLargeBytes } from "./relay.mjs";
import { openServers } from "./servers.mjs";

export { missing } from "./servers.mjs";

export async function open({ workspace }) {
  const servers = await openServers({ workspace, largeBytes: kLargeBytes });
  const program = await compiled(new URL("./splice-floor.c", import.meta.url));
  const one = async () => {
    const relay = spawn(program, [servers.port], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: relay.stdout })[Symbol.asyncIterator]();
    const ended = once(relay, "exit");
    const { value: port } = await lines.next();
    const ms = await fetchHere(`http://127.0.0.1:${port}/large`, kLargeBytes);
    const { value: cpuMs } = await lines.next();
    await ended;
    return { ms, cpuMs: Number(cpuMs) };
  };
  return {
    async burst({ runs }) {
      const runMs = [];
      let cpuMs = 0;
      for (let run = 0; run < runs; run++) {
        const took = await one();
        runMs.push(took.ms);
        cpuMs += took.cpuMs;
      }
      return { runMs, cpuMs };
    },
    close: () => servers.close(),
  };
}
