// What it costs that a client of the host reaches a server in a sandbox through a forward, and not one of the host.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { promisify } from "node:util";

import { bursts } from "../bursts.mjs";
import { hostCpu, loopDelay, runTime } from "./scenario.mjs";

const download = {
  name: "forward-download",
  work:
    "curl downloads 1 GiB from a server in a sandbox whose network is denied, through a forward; " +
    "against the same server without a sandbox, over the loopback",
  variants: ["forwardDownload", "directDownload"],
  sizes: { full: { rounds: 8, runs: 2 }, quick: { rounds: 2, runs: 1 } },
  request: {},
  measures: [
    { ...runTime, name: "one download", bars: { directDownload: { atMost: 1.25, aim: 1.1 } } },
    { ...hostCpu, name: "host CPU a GiB" },
    { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2 } },
  ],
};

const request = {
  name: "forward-request",
  work:
    "a small HTTP request to a server in a sandbox through a forward, less the same to a server of " +
    "the host just before; on a connection that is kept, and on a new one each time",
  variants: ["forwardRequest", "forwardConnection"],
  sizes: { full: { rounds: 10, runs: 200 }, quick: { rounds: 2, runs: 100 } },
  request: {},
  measures: [
    { ...runTime, name: "what it takes more", limit: { of: "p50", atMost: 0.3, aim: 0.1 } },
  ],
};

export const scenarios = [download, request];

const run = promisify(execFile);
const kLargeBytes = 2 ** 30;
const kPort = 8000;

/** Serves PORT: 1 GiB for /large, else a few bytes. Says the port that it listens on. */
const kServer = `
const block = Buffer.alloc(1024 * 1024, "x");
const server = require("node:http").createServer(async (request, response) => {
  if (request.url !== "/large") return void response.end("small");
  response.writeHead(200, { "content-length": ${kLargeBytes} });
  for (let left = ${kLargeBytes}; left > 0; left -= block.length) {
    if (!response.write(block)) await require("node:events").once(response, "drain");
  }
  response.end();
});
server.listen(Number(process.argv[1]), "127.0.0.1", () => console.log(server.address().port));
`;

const serverWords = (port) => ["node", "-e", kServer, String(port)];

/** A server of the host: { url, close() }. */
async function openDirect() {
  const [program, ...words] = serverWords(0);
  const server = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(server.stdout, "data");
  return {
    url: `http://127.0.0.1:${Number(port)}`,
    async close() {
      const ended = once(server, "exit");
      server.kill();
      await ended;
    },
  };
}

/** The same in a sandbox, through a forward. */
async function openForwarded({ workspace }) {
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
  const live = await runner.spawn({ argv: serverWords(kPort) });
  await live.waitForPort(kPort);
  const { url } = await live.forward(kPort);
  return { url, close: () => runner.close() };
}

/** What the download took, in ms, as curl tells it. */
async function downloaded(url) {
  const look = ["-s", "-S", "-o", "/dev/null", "-w", "%{size_download} %{time_total}"];
  const { stdout } = await run("curl", [...look, `${url}/large`]);
  const [size, seconds] = stdout.split(" ").map(Number);
  if (size !== kLargeBytes) throw new Error(`curl got ${size} of ${kLargeBytes} bytes`);
  return seconds * 1e3;
}

const openDownload = (open) => async (setUp) => {
  const { url, close } = await open(setUp);
  return { burst: bursts(() => downloaded(url)), close };
};

/** What a request took, in ms. */
async function asked(url, agent) {
  const begun = performance.now();
  const [response] = await once(http.get(url, { agent }), "response");
  response.resume();
  await once(response, "end");
  return performance.now() - begun;
}

const openRequest = (keepAlive) => async (setUp) => {
  const direct = await openDirect();
  const forwarded = await openForwarded(setUp);
  const agents = [new http.Agent({ keepAlive }), new http.Agent({ keepAlive })];
  const step = async () => {
    const here = await asked(direct.url, agents[0]);
    return (await asked(forwarded.url, agents[1])) - here;
  };
  return {
    burst: bursts(step),
    async close() {
      for (const agent of agents) agent.destroy();
      await forwarded.close();
      await direct.close();
    },
  };
};

async function noCurl() {
  try {
    await run("curl", ["--version"]);
    return undefined;
  } catch {
    return "there is no curl";
  }
}

const ours = { kind: "ours", missing: noCurl };

export const variants = {
  forwardDownload: { title: "a forward", ...ours, open: openDownload(openForwarded) },
  directDownload: {
    title: "the loopback",
    kind: "floor",
    startsNothing: true,
    missing: noCurl,
    open: openDownload(openDirect),
  },
  forwardRequest: { title: "on a kept connection", ...ours, open: openRequest(true) },
  forwardConnection: { title: "on a new connection", ...ours, open: openRequest(false) },
};
