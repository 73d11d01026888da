// As root too: root owns the settings of a namespace, and only a read-only /proc keeps commands from them.
/**
 * A clone that has the network namespace of an earlier one can't tell it from a new one: whatever leaves a trace in one
 * makes it the last that had it.
 */

import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { cloning } from "./cloning-runners.js";

const py = (program: string) =>
  `/usr/bin/python3 - << 'END'\nfrom socket import *\nimport os, struct, sys\n${program}\nEND`;

/** Each says "done" where it has done what it is to. */
type Use = [name: string, script: string];

const kFlowLabel = `IPV6_FLOWLABEL_MGR, kLabel = 32, 0x12345
s = socket(AF_INET6, SOCK_DGRAM)
ask = inet_pton(AF_INET6, "::1") + struct.pack("!I", kLabel) + struct.pack("BBHHHI", 0, 1, 1, 60, 60, 0)
s.setsockopt(41, IPV6_FLOWLABEL_MGR, ask)
print("done")`;

const kTraces: Use[] = [
  [
    "a datagram to itself",
    py(
      `s = socket(AF_INET, SOCK_DGRAM); s.bind(("127.0.0.1", 0)); s.sendto(b"x", s.getsockname()); print("done")`,
    ),
  ],
  [
    "a datagram to nobody",
    py(`s = socket(AF_INET6, SOCK_DGRAM); s.sendto(b"x", ("::1", 9)); print("done")`),
  ],
  [
    "a connection, which waits for its end (TIME_WAIT)",
    py(`l = socket(); l.bind(("127.0.0.1", 4711)); l.listen()
c = create_connection(("127.0.0.1", 4711)); a, _ = l.accept(); c.close(); a.close(); print("done")`),
  ],
  [
    "a connection that nobody takes",
    py(`try: create_connection(("127.0.0.1", 9))
except ConnectionRefusedError: print("done")`),
  ],
  [
    "a connection to where no route leads",
    py(`try: create_connection(("192.0.2.1", 80))
except OSError: print("done")`),
  ],
  [
    "a multicast group that it has joined and left (IGMP)",
    py(`s = socket(AF_INET, SOCK_DGRAM); lo = inet_aton("127.0.0.1")
s.setsockopt(IPPROTO_IP, IP_ADD_MEMBERSHIP, inet_aton("239.1.2.3") + lo)
s.setsockopt(IPPROTO_IP, IP_DROP_MEMBERSHIP, inet_aton("239.1.2.3") + lo); print("done")`),
  ],
  [
    "an IPv6 multicast group that it has joined and left (MLD)",
    py(`s = socket(AF_INET6, SOCK_DGRAM); group = inet_pton(AF_INET6, "ff05::1:3") + struct.pack("@I", 1)
s.setsockopt(IPPROTO_IPV6, IPV6_JOIN_GROUP, group)
s.setsockopt(IPPROTO_IPV6, IPV6_LEAVE_GROUP, group); print("done")`),
  ],
  [
    "a key for fast opens of connections",
    py(
      `l = socket(); l.bind(("127.0.0.1", 0)); l.setsockopt(IPPROTO_TCP, TCP_FASTOPEN, 5); l.listen(); print("done")`,
    ),
  ],
  [
    "datagram sockets that were connected",
    py(`for family, host in (AF_INET, "127.0.0.1"), (AF_INET6, "::1"):
  socket(family, SOCK_DGRAM).connect((host, 9))
print("done")`),
  ],
  ["a flow label that is kept for a while", py(kFlowLabel)],
];

/** What leaves nothing that a process could find: the namespace may be used again. */
const kNone: Use[] = [
  ["nothing", "echo done"],
  [
    "sockets that were bound",
    py(`for family in AF_INET, AF_INET6:
  s = socket(family); s.bind(("", 4711)); s.listen()
print("done")`),
  ],
  ["an abstract socket", py(`s = socket(AF_UNIX); s.bind("\\0name"); s.listen(); print("done")`)],
  [
    "what the kernel tells of its interfaces",
    py(`print("done" if if_nameindex() == [(1, "lo")] else if_nameindex())`),
  ],
];

/** All that a namespace has to read, without what is of all namespaces together. */
const kView = `
  cd /proc/net
  for f in *; do
    case $f in softnet_stat|protocols|netlink|ptype|sockstat|unix|stat|nf_conntrack*) continue;; esac
    [ -f $f ] && grep -H '' $f
  done 2> /dev/null
  grep -o 'used [0-9]*\\|inuse [0-9]*\\|tw [0-9]*' sockstat sockstat6
  wc -l < unix
  grep -rs '' /proc/sys/net/ipv4 /proc/sys/net/ipv6 /proc/sys/net/core /proc/sys/net/unix |
    grep -v '/stable_secret:\\|_mem:\\|tcp_available_ulp:'
  true`;
const kNamespace = "readlink /proc/self/ns/net";

describeSandboxed("a network namespace that was used before", () => {
  let runner: BubblewrapNativeRunner;
  let unused = "";
  beforeAll(async () => {
    runner = await cloning({ shadowDir: tempDirectory() });
    const cold = new BubblewrapNativeRunner({
      shadowDir: tempDirectory(),
      prewarm: 0,
      clone: "never",
    });
    unused = (await run(cold, kView)).out;
    await cold.close();
  });
  afterAll(() => runner?.close());

  /** A run, and whether it had the namespace of an earlier one. */
  async function used(script: string) {
    const { out, err, result } = await run(runner, `${kNamespace}\n${script}`);
    const [namespace = "", ...lines] = out.split("\n");
    return { namespace, out: lines.join("\n"), err, is: result.audits[0]?.namespaces };
  }

  /** Runs until an earlier namespace is used again, and what that run saw there. */
  async function untilReused(namespace: string): Promise<string | undefined> {
    const script = `[ "$(${kNamespace})" != '${namespace}' ] || { ${kView}\n }`;
    for (let turn = 0; turn < 100; turn += 1) {
      const next = await used(script);
      // The number of one that is gone is given to new ones.
      if (next.namespace === namespace && next.is === "reused") return next.out;
    }
    return undefined;
  }

  test("is what runs have that follow one another", async () => {
    const seen = new Set<string>();
    await eventually("one is used again", async () => {
      const { namespace, is } = await used("true");
      const isKnown = seen.has(namespace);
      seen.add(namespace);
      return isKnown && is === "reused";
    });
  });

  /** Nobody has a namespace later that a clone has made for itself: repeats the use until it is in one that is kept. */
  async function usedKept(script: string): Promise<string> {
    for (let turn = 0; turn < 20; turn += 1) {
      const { namespace, out, err, is } = await used(script);
      expect([out.trim(), err]).toEqual(["done", ""]);
      if (is === "reused") return namespace;
    }
    throw new Error("none was used again");
  }

  test.each(kNone)("is used again after %s, and shows nothing", async (_, script) => {
    expect(await untilReused(await usedKept(script))).toBe(unused);
  });

  // Its number may be that of a new one later.
  test.each(kTraces)("is never used again after %s, or shows nothing", async (_, script) => {
    expect((await untilReused(await usedKept(script))) ?? unused).toBe(unused);
  });

  test("is not used while another process has a socket of it", async () => {
    const place = "keeper.sock";
    const keeper = run(
      runner,
      py(`l = socket(AF_UNIX); l.bind("${place}"); l.listen(); l.settimeout(0.05); kept = []
while not os.path.exists("over"):
  try: a, _ = l.accept()
  except TimeoutError: continue
  kept.append(recv_fds(a, 1, 1)); a.sendall(b"1")
print(len(kept) > 0)`),
    );
    const give = py(`import time
while not os.path.exists("${place}"): time.sleep(0.05)
c = socket(AF_UNIX); c.connect("${place}"); s = socket(AF_INET, SOCK_DGRAM)
send_fds(c, [b"x"], [s.fileno()]); c.recv(1); print("done")`);
    // It lives, and so keeps its number.
    expect(await untilReused(await usedKept(give))).toBeUndefined();
    await run(runner, "touch over");
    expect((await keeper).out.trim()).toBe("True");
  });

  test("has no settings that a command could change", async () => {
    const setting = "/proc/sys/net/ipv4/ip_default_ttl";
    const change = `(echo 7 > ${setting}) 2> /dev/null; cat ${setting}`;
    const own = ["--user", "--map-root-user", "--net", "sh", "-c", change];
    expect(spawnSync("unshare", own, { encoding: "utf8" }).stdout.trim(), "the control").toBe("7");
    const seen = new Set<string>();
    for (let turn = 0; turn < 40; turn += 1) {
      const { is, out } = await used(change);
      if (is === "reused") seen.add(out.trim());
    }
    expect([...seen]).toEqual(["64"]);
  });
});
