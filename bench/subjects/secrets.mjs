// What it costs that TLS ends on the host, so that secrets are put in and requests are looked at.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import tls from "node:tls";

import { bursts, peakResidentBytes, resetPeak, residentBytes } from "../bursts.mjs";
import { curlHere, curlInside, noServers, onlyPort, openServers } from "./network.mjs";
import { loopDelay, peakGrowth, runTime } from "./scenario.mjs";

const kLargeBytes = 2 ** 30;
const kKept = 40;
const kAtOnce = 32;
const kMany = 400;

const quietLoop = { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2 } };

export const scenarios = [
  {
    name: "secrets-run",
    work: "/bin/true, one at a time in a new sandbox, with a network by domain, and with a secret besides",
    variants: ["secretsCold", "byDomainCold"],
    sizes: { full: { rounds: 30, runs: 20 }, quick: { rounds: 3, runs: 10 } },
    request: { argv: ["/bin/true"], atOnce: 1 },
    measures: [{ ...runTime, bars: { byDomainCold: { atMost: 1.1, aim: 1.05 } } }],
  },
  {
    name: "secrets-request",
    work: `a small HTTPS request of curl on a connection that it has, to a host with a secret, less one to a host that is passed through; the median of ${kKept} of each`,
    variants: ["secretsRequest"],
    sizes: { full: { rounds: 20, runs: 5 }, quick: { rounds: 3, runs: 3 } },
    request: {},
    measures: [
      { ...runTime, name: "what it takes more", limit: { of: "p50", atMost: 1.2, aim: 0.6 } },
    ],
  },
  {
    name: "secrets-many",
    work: `${kMany} small requests of curl over HTTP/2, ${kAtOnce} at once, to a host with a secret; against a proxy of Node's http2 without a sandbox`,
    variants: ["secretsMany", "http2Proxy"],
    sizes: { full: { rounds: 10, runs: 2 }, quick: { rounds: 2, runs: 1 } },
    request: {},
    measures: [
      { ...runTime, name: "all of them", bars: { http2Proxy: { atMost: 2, aim: 1.5 } } },
      quietLoop,
    ],
  },
  {
    name: "secrets-large",
    work: "a download of 1 GiB from a host with a secret; against Node's pipe() between two ends of TLS, without a sandbox",
    variants: ["secretsLarge", "tlsPipe"],
    sizes: { full: { rounds: 6, runs: 1 }, quick: { rounds: 2, runs: 1 } },
    request: {},
    measures: [
      { ...runTime, name: "one download", bars: { tlsPipe: { atMost: 1.67, aim: 1.3 } } },
      quietLoop,
      { ...peakGrowth, limit: { of: "max", atMost: 8, aim: 4 } },
    ],
  },
];

// A runner whose one host has a secret.

const secretFor = (port) => ({
  secrets: [
    {
      name: "TOKEN",
      value: "ghp_a-token-of-the-benchmark-0123456789",
      hosts: [`localhost:${port}`],
    },
  ],
});

async function openInside({ workspace, largeBytes = 0, isSecret = true }) {
  const servers = await openServers({ workspace, largeBytes });
  process.env.NODE_EXTRA_CA_CERTS = servers.cert; // the broker verifies servers as this program would
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const port = servers.securePort;
  const network = { ...onlyPort(port), ...(isSecret && secretFor(port)) };
  const runner = new BubblewrapNativeRunner({
    shadowDir: workspace,
    network,
    prewarm: 0,
    clone: "never",
  });
  const session = await runner.openSession();
  return {
    runner,
    url: `https://localhost:${port}`,
    curl: (...args) => curlInside(session, args),
    async close() {
      await session.close();
      await runner.close();
      await servers.close();
    },
  };
}

const withPeak = (step) => (request) => {
  resetPeak();
  const before = residentBytes();
  const peak = () => ({ peakGrowthBytes: Math.max(0, peakResidentBytes() - before) });
  return bursts(step, peak)(request);
};

const openCold = (isSecret) => async (options) => {
  const inside = await openInside({ ...options, isSecret });
  const step = async () => {
    const began = performance.now();
    await inside.runner.exec({ argv: ["/bin/true"] });
    return performance.now() - began;
  };
  return { burst: bursts(step), close: inside.close };
};

const kToken = ["-H", "Authorization: Bearer 0123"];

/** The median time of requests on one connection, in ms, without the first ones. */
async function kept({ curl, url }) {
  const each = Array.from({ length: kKept }, () => ["-o", "/dev/null", `${url}/small`]).flat();
  const out = await curl(...kToken, "-w", "%{time_total} ", ...each);
  const times = out
    .trim()
    .split(" ")
    .map((text) => Number(text) * 1e3);
  const late = times.slice(kKept / 4).sort((one, other) => one - other);
  return late[late.length >> 1];
}

async function openRequest(options) {
  const secret = await openInside(options);
  const passed = await openInside({ ...options, isSecret: false });
  const step = async () => (await kept(secret)) - (await kept(passed));
  return { burst: bursts(step), close: () => Promise.all([secret.close(), passed.close()]) };
}

/** Milliseconds of the requests, at once. */
async function many(curl, url) {
  const urls = ["-o", "/dev/null", `${url}/small?[1-${kMany}]`];
  const began = performance.now();
  await curl(...kToken, "--parallel", "--parallel-max", String(kAtOnce), ...urls);
  return performance.now() - began;
}

async function openMany(options) {
  const { curl, url, close } = await openInside(options);
  return { burst: bursts(() => many(curl, url)), close };
}

async function openLarge(options) {
  const { curl, url, close } = await openInside({ ...options, largeBytes: kLargeBytes });
  const step = () => large(curl, url);
  return { burst: withPeak(step), close };
}

async function large(curl, url) {
  const out = await curl(
    ...kToken,
    "--http1.1",
    "-o",
    "/dev/null",
    "-w",
    "%{size_download} %{time_total}",
    `${url}/large`,
  );
  const [size, seconds] = out.split(" ").map(Number);
  if (size !== kLargeBytes) throw new Error(`curl got ${size} of ${kLargeBytes} bytes`);
  return seconds * 1e3;
}

// The same without a sandbox, by what one writes with Node.

const listening = async (server) => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `https://localhost:${server.address().port}`;
};

async function openProxy(options) {
  const servers = await openServers(options);
  const pair = { key: readFileSync(servers.key), cert: readFileSync(servers.cert) };
  const to = http2.connect(`https://localhost:${servers.securePort}`, { ca: pair.cert });
  const proxy = http2.createSecureServer(pair);
  proxy.on("stream", (stream, headers) => {
    const authority = `localhost:${servers.securePort}`;
    const asked = to.request({ ...headers, ":authority": authority }, { endStream: true });
    for (const each of [stream, asked]) each.on("error", () => {});
    asked.on("response", (answer) => {
      stream.respond(answer);
      asked.pipe(stream);
    });
  });
  const url = await listening(proxy);
  return {
    burst: bursts(() => many(curlHere, url)),
    async close() {
      to.destroy();
      proxy.close();
      await servers.close();
    },
  };
}

async function openTlsPipe(options) {
  const servers = await openServers({ ...options, largeBytes: kLargeBytes });
  const pair = { key: readFileSync(servers.key), cert: readFileSync(servers.cert) };
  const relay = tls.createServer(pair, (inside) => {
    const outside = tls.connect({ port: servers.securePort, host: "localhost", ca: pair.cert });
    inside.pipe(outside).pipe(inside);
    for (const socket of [inside, outside]) socket.on("error", () => socket.destroy());
  });
  const url = await listening(relay);
  return {
    burst: withPeak(() => large(curlHere, url)),
    async close() {
      relay.close();
      await servers.close();
    },
  };
}

const ours = (title, open) => ({ title, kind: "ours", missing: noServers, open });
const peer = (title, open) => ({
  title,
  kind: "peer",
  startsNothing: true,
  missing: noServers,
  open,
});

export const variants = {
  secretsCold: ours("with a secret", openCold(true)),
  byDomainCold: ours("by domain", openCold(false)),
  secretsRequest: ours("our request", openRequest),
  secretsMany: ours("ours", openMany),
  http2Proxy: peer("Node's http2", openProxy),
  secretsLarge: ours("ours", openLarge),
  tlsPipe: peer("Node's TLS, pipe()", openTlsPipe),
};
