// As root too: root's sandboxes have other ways out.
/**
 * A network by domain in each kind of run: a real client that reaches what it may by its name, with a
 * proxy and without one, and nothing else.
 */

import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

import { jsonOfHost } from "../support/host-program.js";
import { kNodeInside } from "../support/node-arguments.js";
import {
  describeSandboxed,
  describeUnless,
  testUnless,
  whyNoBindFd,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { inOwnNetwork, whyNoOwnNetwork } from "./own-network.js";

const kPort = 8080;
/** Of the host's loopback; commands may not listen below 1024 themselves. */
const kHostPort = 81;
const kBoundMs = 120_000;

const kKinds = [
  "cold",
  "cloned",
  "prewarmed",
  "session",
  "live",
  "batch",
  "overlay",
  "copy",
  "project",
];
const kByDescriptor = ["cloned", "prewarmed", "overlay"];
const kHere = whyNoBindFd ? kKinds.filter((kind) => !kByDescriptor.includes(kind)) : kKinds;

type Connection = {
  host: string;
  port: number;
  verdict: string;
  via: string;
  rule?: string;
  reason?: string;
  bytesIn: number;
  address?: string;
};
type End = {
  out: string;
  error?: string;
  outcome: { kind: string; reason?: string };
  layers: string[];
  start?: string;
  connections: Connection[];
  other?: End;
  quiet?: End;
  after?: End;
};

const kUrl = `http://a.test:${kPort}/`;
/** One line each: what the client got, or how it failed. */
const kScript = [
  `curl -sS -m 20 ${kUrl} 2>&1`,
  `curl -sS -m 20 --noproxy '*' ${kUrl} 2>&1`,
  `curl -sS -m 20 -o /dev/null -w 'refused by the proxy: %{http_code}\\n' http://b.test:${kPort}/ 2>&1`,
  `curl -s -m 20 --noproxy '*' http://b.test:${kPort}/; echo "no such name: $?"`,
  `curl -s -m 20 --noproxy '*' http://127.0.0.1:${kPort + 1}/; echo "no such listener: $?"`,
  "curl -s -m 5 --noproxy '*' http://192.0.2.1/; echo \"no such route: $?\"",
  `curl -sS -m 20 http://127.0.0.1:${kHostPort}/ 2>&1`,
  `curl -sS -m 20 --noproxy '*' http://localhost:${kHostPort}/ 2>&1`,
].join("\n");
const kOut = [
  `page of a.test:${kPort}`,
  `page of a.test:${kPort}`,
  "refused by the proxy: 403",
  "no such name: 6",
  "no such listener: 7",
  "no such route: 7",
  `page of 127.0.0.1:${kHostPort}`,
  `page of localhost:${kHostPort}`,
  "",
].join("\n");

/** Runs the host program with `before` in front of its command line. */
async function endsOf(
  directory: string,
  before: string[],
  ports = [kPort, kHostPort],
): Promise<Record<string, End>> {
  const program = fileURLToPath(new URL("../hosts/network/each-kind-of-run.mjs", import.meta.url));
  const network = {
    allow: [`a.test:${kPort}`],
    allowPrivate: ["127.0.0.0/8"],
    hostPorts: [kHostPort],
  };
  const given = { script: kScript, network, directory, ports };
  return jsonOfHost([...before, ...kNodeInside, program, JSON.stringify(given)]);
}

/** A host whose only network is a loopback, and which knows some names of its own. */
function withNames(names: readonly string[]): Promise<Record<string, End>> {
  return endsOf(tempDirectory("network"), inOwnNetwork({ here: { "127.0.0.1": names } }));
}

/** A host that may make no network namespace; user namespaces, as its own, it may. */
function withoutNetworks(): Promise<Record<string, End>> {
  const script = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"';
  const before = ["unshare", "-Ur", "sh", "-c", script, "sh"];
  return endsOf(tempDirectory("network"), before, [kPort]);
}

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "a network by domain", () => {
  let seen: Record<string, End> = {};

  beforeAll(async () => {
    seen = await withNames(["a.test", "b.test"]);
  }, kBoundMs);

  test.each(kHere)("%s: what is allowed is reached by its name, and nothing else", (kind) => {
    expect(seen[kind]?.error).toBeUndefined();
    expect(seen[kind]?.out).toBe(kOut);
  });

  test.each(kHere.filter((kind) => kind !== "project"))("%s: all of it is recorded", (kind) => {
    const { layers = [], connections = [] } = seen[kind] ?? {};
    expect(layers).toContain("network-namespace");
    expect(layers).toContain("network-by-domain");
    const ofHost = connections.filter(({ via }) => via === "host-port");
    expect(new Set(ofHost.map(({ rule }) => rule))).toEqual(new Set([`127.0.0.1:${kHostPort}`]));
    if (kind !== "session") expect(ofHost).toHaveLength(2);
    const allowed = connections.filter(
      ({ verdict, via }) => verdict === "allowed" && via !== "host-port",
    );
    expect(allowed).toMatchObject(
      Array.from({ length: kind === "session" ? allowed.length : 2 }, () => ({
        host: "a.test",
        port: kPort,
        address: "127.0.0.1",
        rule: `a.test:${kPort}`,
      })),
    );
    const vias = new Set(allowed.map(({ via }) => via));
    expect([...vias].sort()).toEqual(["http", "transparent"]);
    const denied = connections.filter(({ verdict }) => verdict === "denied");
    expect(new Set(denied.map(({ host }) => host))).toEqual(new Set(["b.test"]));
  });

  testUnless(whyNoBindFd, "a prewarmed run has the network that was made with its sandbox", () => {
    expect(seen.prewarmed?.start).toBe("prewarmed");
  });

  testUnless(whyNoBindFd, "clones have a network each, and a record", () => {
    const { start, other, connections } = seen.cloned ?? {};
    expect([start, other?.start]).toEqual(["cloned", "cloned"]);
    expect(other?.out).toBe(kOut);
    expect(other?.connections.length).toBe(connections?.length);
  });

  test("in a session each command has a record of its own time", () => {
    const session = seen.session;
    expect(session?.quiet?.connections).toEqual([]);
    expect(session?.after?.connections).toEqual([]);
    expect(session?.other?.out).toBe(kOut);
    expect(session?.other?.connections.length).toBeGreaterThan(3);
  });
});

describeSandboxed("where no network can be made", () => {
  let seen: Record<string, End> = {};

  beforeAll(async () => {
    seen = await withoutNetworks();
  }, kBoundMs);

  const kReason = "network-namespace: No space left on device";

  test.each(kHere)("%s: the set-up fails with the kernel's reason, and nothing runs", (kind) => {
    const end = seen[kind];
    expect(`${end?.error} ${end?.outcome?.reason}`).toContain(kReason);
    expect(end?.out ?? "").not.toContain("no such");
    if (end?.error === undefined) {
      expect(end?.outcome.kind).toBe("setup-failed");
      expect(end?.connections).toEqual([]);
    }
  });
});
