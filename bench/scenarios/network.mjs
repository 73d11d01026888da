// What it costs that a command reaches the names of its rules and nothing else.

import { hostCpu, hostMemory, loopDelay, peakGrowth, runTime } from "./measures.mjs";

const quietLoop = { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2 } };
const kRatio = { atMost: 1.2, aim: 1.05 };

const runs = {
  name: "network-run",
  work:
    '/bin/true, one at a time, with `network: { allow: ["a.test"] }` and with `"deny"`; where ' +
    "sandboxes are kept standing, the next run comes when they all stand again",
  variants: ["byDomain", "byDomainPrewarmed", "ours", "prewarmed"],
  sizes: { full: { rounds: 30, runs: 20 }, quick: { rounds: 3, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1, ready: "run", watchLoop: true },
  measures: [
    { ...runTime, bars: { ours: kRatio } },
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

export const network = [runs, relay, request];
