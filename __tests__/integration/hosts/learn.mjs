// A host in a network of its own (see ../network/own-network.ts): starts servers, runs command lines one
// after the other, and prints one line of JSON with how each ended.
//   node learn.mjs FILE, which holds { directory, key, cert, commands: [{ argv, cwd, env }] }
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";

const { directory, key, cert, commands } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const servers = new Worker(new URL("./network/servers-thread.mjs", import.meta.url), {
  workerData: { directory, key, cert },
});
await once(servers, "message");

const ends = [];
for (const { argv, cwd, env } of commands) {
  const [program, ...args] = argv;
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 240_000,
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  ends.push({ code, out, err });
}
process.stdout.write(`${JSON.stringify(ends)}\n`, () => process.exit());
