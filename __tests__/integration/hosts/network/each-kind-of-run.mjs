// A host whose own network is a loopback: serves pages, and runs a script in each kind of run with a
// network by domain. argv: JSON { script, network, directory, ports }. Prints JSON by kind.

import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { BubblewrapNativeRunner, Bwrap } from "../../../../dist/index.js";

const { script, network, directory, ports } = JSON.parse(process.argv[2]);
const servers = ports.map(() =>
  createServer((request, response) => {
    request.resume().on("end", () => response.end(`page of ${request.headers.host}\n`));
  }),
);
for (const [at, server] of servers.entries()) {
  await new Promise((resolve, reject) => {
    server.on("error", reject).listen(ports[at], "127.0.0.1", resolve);
  });
}

const kDecoder = new TextDecoder();
const input = { argv: ["sh", "-c", script], limits: { timeoutMs: 60_000 } };
const place = (name) => {
  const path = join(directory, name);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
};
const runner = (options = {}) =>
  new BubblewrapNativeRunner({ shadowDir: place("work"), prewarm: 0, network, ...options });
const seen = (result) => ({
  out: kDecoder.decode(result.stdout) + kDecoder.decode(result.stderr),
  outcome: result.outcome,
  layers: result.audits[0].layers,
  start: result.audits[0].start,
  connections: result.audits[0].connections,
});

async function inTransaction(backend) {
  const opened = await runner().openTransaction({ directory: place("state"), backend });
  const result = seen(await opened.exec(input));
  await opened.discard();
  return result;
}

const kinds = {
  cold: async () => seen(await runner().exec(input)),
  prewarmed: async () => {
    const warmed = runner({ prewarm: 1 });
    await warmed.warm();
    const result = seen(await warmed.exec(input));
    await warmed.close();
    return result;
  },
  cloned: async () => {
    const cloning = runner();
    for (let left = 500; left > 0; left -= 1) {
      const { start, outcome } = seen(await cloning.exec({ argv: ["true"] }));
      if (start === "cloned" || outcome.kind !== "exited") break;
      await delay(20);
    }
    const [result, other] = (await Promise.all([cloning.exec(input), cloning.exec(input)])).map(
      seen,
    );
    await cloning.close();
    return { ...result, other };
  },
  session: async () => {
    const session = await runner().openSession();
    const quiet = seen(await session.exec({ argv: ["true"] }));
    const results = await Promise.all([session.exec(input), session.exec(input)]);
    const after = seen(await session.exec({ argv: ["true"] }));
    await session.close();
    return { ...seen(results[0]), other: seen(results[1]), quiet, after };
  },
  live: async () => {
    const process = await runner().spawn(input);
    let out = "";
    for await (const chunk of process.stdout) out += kDecoder.decode(chunk);
    const result = await process.result;
    return { ...seen({ stdout: new Uint8Array(), stderr: new Uint8Array(), ...result }), out };
  },
  batch: async () => seen((await runner().execBatch([input]))[0]),
  overlay: () => inTransaction("overlay"),
  copy: () => inTransaction("copy"),
  project: async () => {
    const project = new Bwrap(place("project"), [], false, { network });
    return { out: await project.exec(script) };
  },
};

const ends = {};
for (const [name, run] of Object.entries(kinds)) {
  try {
    ends[name] = await run();
  } catch (error) {
    ends[name] = { error: String(error?.stack ?? error) };
  }
}
for (const server of servers) server.close();
process.stdout.write(JSON.stringify(ends));
