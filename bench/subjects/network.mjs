// What it costs that a command reaches the names of its rules and nothing else.

import { execFile, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { bursts, peakResidentBytes, resetPeak, residentBytes } from "../bursts.mjs";
import { compiled } from "../programs.mjs";
import { hostCpu, hostMemory, loopDelay, peakGrowth, runTime } from "./scenario.mjs";

const quietLoop = { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2 } };
const kRatio = { atMost: 1.2, aim: 1.05 };
const kColdRatio = { atMost: 1.08, aim: 1.05 };

const runs = {
  name: "network-run",
  work:
    '/bin/true, one at a time, with `network: { allow: ["a.test"] }` and with `"deny"`; where ' +
    "sandboxes are kept standing, the next run comes when they all stand again",
  variants: ["byDomain", "byDomainPrewarmed", "ours", "prewarmed"],
  sizes: { full: { rounds: 30, runs: 20 }, quick: { rounds: 3, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1, ready: "run", watchLoop: true },
  measures: [
    { ...runTime, bars: { ours: kColdRatio } },
    { ...runTime, of: "byDomainPrewarmed", bars: { prewarmed: kRatio } },
    quietLoop,
  ],
};

const relay = {
  name: "network-relay",
  work:
    "a command downloads 1 GiB from a server of this machine, through our relay; against relays " +
    "between the same client and server, without a sandbox: a C program that splices, and Node's " +
    "pipe()",
  variants: ["networkRelay", "networkSplice", "networkPipe"],
  sizes: { full: { rounds: 8, runs: 2 }, quick: { rounds: 2, runs: 1 } },
  request: {},
  measures: [
    {
      ...hostCpu,
      name: "host CPU a GiB",
      bars: {
        networkSplice: { atMost: 1.2, aim: 1 },
        networkPipe: { atMost: 0.5, aim: 0.3 },
      },
    },
    { ...runTime, name: "one download" },
    quietLoop,
    { ...peakGrowth, limit: { of: "max", atMost: 4, aim: 1 } },
  ],
};

const request = {
  name: "network-request",
  work:
    "a small HTTPS request by curl in a session's sandbox, less the same without a sandbox just " +
    "before; its connection, its name and its TLS are new each time",
  variants: ["networkRequest"],
  sizes: { full: { rounds: 10, runs: 30 }, quick: { rounds: 2, runs: 10 } },
  request: {},
  measures: [
    { ...runTime, name: "what it takes more", limit: { of: "p50", atMost: 1, aim: 0.4 } },
    hostMemory,
  ],
};

export const scenarios = [runs, relay, request];

const run = promisify(execFile);
const kProcesses = fileURLToPath(new URL("./processes.mjs", import.meta.url));

// Starts the servers of the network's scenarios (processes.mjs).

/** { port, securePort, key, cert, close() }; on 127.0.0.1, for the name `localhost`. */
export async function openServers({ workspace, largeBytes = 0 }) {
  const directory = await mkdtemp(join(workspace, "network-"));
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(directory, name));
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const asked = ["req", "-x509", ...curve, "-nodes", "-subj", "/CN=localhost", "-days", "2"];
  await run("openssl", [...asked, "-keyout", key, "-out", cert]);
  const server = fork(kProcesses, ["servers", String(largeBytes), key, cert]);
  const [ports] = await once(server, "message");
  return {
    ...ports,
    key,
    cert,
    async close() {
      const ended = once(server, "exit");
      server.disconnect();
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}

/** Why there can be none. */
export async function noServers() {
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

// curl, as the scenarios of the network call it: here, and in a sandbox through its proxy.

const kLook = ["-s", "-S", "-k", "-o", "/dev/null", "-w", "%{size_download} %{time_total}"];
const kProxy = ["--noproxy", "", "--proxytunnel", "--proxy", "http://127.0.0.1:3128"];

/** A runner's option: the server of this port, which is the host's own, and nothing else. */
export const onlyPort = (port) => ({ allow: [`localhost:${port}`], allowPrivate: ["localhost"] });

/** What curl prints, without a sandbox. */
export async function curlHere(...args) {
  return (await run("curl", ["-s", "-S", "-k", ...args])).stdout;
}

/** The same by `commands`, a runner or a session. */
export async function curlInside(commands, args) {
  const limits = { maxStdoutBytes: 65_536, maxStderrBytes: 4096, timeoutMs: 120_000 };
  const argv = ["curl", "-s", "-S", "-k", ...kProxy, ...args];
  const { stdoutText, stderrText, exitCode } = await commands.exec({ argv, limits });
  if (exitCode !== 0) throw new Error(stderrText);
  return stdoutText;
}

function look(output, bytes) {
  const [size, seconds] = output.split(" ").map(Number);
  if (size !== bytes) throw new Error(`curl got ${size} of ${bytes} bytes`);
  return seconds * 1e3;
}

/** What the request took, in ms, as curl tells it; without a sandbox. */
async function fetchHere(url, bytes) {
  const { stdout } = await run("curl", [...kLook, url]);
  return look(stdout, bytes);
}

/** The same by `commands`, a runner or a session. */
async function fetchInside(commands, url, bytes) {
  const limits = { maxStdoutBytes: 4096, maxStderrBytes: 4096, timeoutMs: 120_000 };
  const argv = ["curl", ...kLook, ...kProxy, url];
  const { stdout, stderr, exitCode } = await commands.exec({ argv, limits });
  if (exitCode !== 0) throw new Error(Buffer.from(stderr).toString());
  return look(Buffer.from(stdout).toString(), bytes);
}

// A large download by a command whose network is one name: our host process relays it.

const kLargeBytes = 2 ** 30;

async function openRelay({ workspace }) {
  const servers = await openServers({ workspace, largeBytes: kLargeBytes });
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const network = onlyPort(servers.port);
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, network, prewarm: 0 });
  const url = `http://localhost:${servers.port}/large`;
  const step = () => fetchInside(runner, url, kLargeBytes);
  return {
    async burst(request) {
      resetPeak();
      const before = residentBytes();
      const peak = () => ({ peakGrowthBytes: Math.max(0, peakResidentBytes() - before) });
      return bursts(step, peak)(request);
    },
    async close() {
      await runner.close();
      await servers.close();
    },
  };
}

// The same download through a relay as one writes it in Node: two sockets and pipe().

async function openPipe({ workspace }) {
  const servers = await openServers({ workspace, largeBytes: kLargeBytes });
  const relay = net.createServer((inside) => {
    const outside = net.connect(servers.port, "127.0.0.1");
    inside.pipe(outside).pipe(inside);
    for (const socket of [inside, outside]) socket.on("error", () => socket.destroy());
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  const url = `http://127.0.0.1:${relay.address().port}/large`;
  return {
    burst: bursts(() => fetchHere(url, kLargeBytes)),
    async close() {
      relay.close();
      await servers.close();
    },
  };
}

// The same download through a C program that does nothing but splice(2) (splice-floor.c).

async function openSplice({ workspace }) {
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

// A small HTTPS request by a command whose network is one name, against the same without a sandbox:
// what it takes more, as curl tells it. In a session, so that a sandbox's set-up is no part of it.

const kSmallBytes = 6;

async function openRequest({ workspace }) {
  const servers = await openServers({ workspace });
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const network = onlyPort(servers.securePort);
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, network, prewarm: 0 });
  const session = await runner.openSession();
  const url = `https://localhost:${servers.securePort}/small`;
  const step = async () => {
    const here = await fetchHere(url, kSmallBytes);
    return (await fetchInside(session, url, kSmallBytes)) - here;
  };
  return {
    burst: bursts(step),
    async close() {
      await session.close();
      await runner.close();
      await servers.close();
    },
  };
}

export const variants = {
  networkRelay: { title: "our relay", kind: "ours", missing: noServers, open: openRelay },
  networkSplice: { title: "C, splice", kind: "floor", missing: noServers, open: openSplice },
  networkPipe: {
    title: "Node's pipe()",
    kind: "peer",
    startsNothing: true,
    missing: noServers,
    open: openPipe,
  },
  networkRequest: { title: "our request", kind: "ours", missing: noServers, open: openRequest },
};
