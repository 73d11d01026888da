/** Programs that people use reach what is allowed, without knowing of anything; and nothing else. */

import { beforeAll, expect } from "vitest";

import { kNodeProgram } from "../support/node-arguments.js";
import { describeUnless, testUnless, whyNoBubblewrap } from "../support/requirements.js";
import {
  type Client,
  kDirect,
  kHosts,
  kLargeBytes,
  kLargeHash,
  kModules,
  kNpm,
  lacks,
  node,
  tried,
  whyNoPip,
} from "./client-programs.js";
import { type End, kHere, makeWorld } from "./made-up-internet.js";
import { fillWorld } from "./made-up-internet-files.js";
import { whyNoOwnNetwork } from "./own-network.js";

const kNode = kNodeProgram;

const kWebSocket = `import http from "node:http";
  const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  const request = http.get("http://a.test/socket", { headers });
  request.on("upgrade", (response, socket) => {
    const text = Buffer.from("ping");
    const mask = Buffer.from([1, 2, 3, 4]);
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length]), mask,
      text.map((byte, i) => byte ^ mask[i % 4])]));
    socket.on("data", (frame) => { console.log(frame.subarray(2).toString()); socket.destroy(); });
  });`;

const kHttp2 = `import http2 from "node:http2";
  const session = http2.connect("https://a.test");
  let left = 20;
  for (let i = 0; i < 20; i++) {
    const stream = session.request({ ":path": "/" + i });
    stream.setEncoding("utf8"); let text = "";
    stream.on("data", (part) => { text += part; });
    stream.on("end", () => { if (--left === 0) { console.log(text.trim()); session.close(); } });
  }`;

const kJava = `import java.net.URI; import java.net.http.*;
class Fetch { public static void main(String[] args) throws Exception {
  var client = HttpClient.newHttpClient();
  var answer = client.send(HttpRequest.newBuilder(URI.create("http://a.test/java")).build(),
    HttpResponse.BodyHandlers.ofString());
  System.out.print(answer.body()); } }`;

const kPython = "/usr/bin/python3 -c";
const kRaw = `import socket
s = socket.create_connection(("a.test", 9000)); s.sendall(b"x" * 1000000)
s.shutdown(socket.SHUT_WR); n = 0
while True:
  part = s.recv(65536)
  if not part: break
  n += len(part)
print(n)`;

const kMany = `import resource, socket
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
all = [socket.create_connection(("a.test", 9000), 60) for _ in range(1000)]
for i, each in enumerate(all): each.sendall(b"%04d" % i)
for i, each in enumerate(all): assert each.recv(4, socket.MSG_WAITALL) == b"%04d" % i
print(len(all))`;

const kClients: Client[] = [
  {
    name: "curl, https",
    script: `${kDirect} curl -sS https://a.test/`,
    out: "hello from a.test\n",
  },
  { name: "curl, by the proxy", script: "curl -sS https://a.test/", out: "hello from a.test\n" },
  {
    name: "curl, over HTTP/2",
    script: `curl -sS --http2 https://a.test/`,
    out: "hello from a.test\n",
  },
  {
    name: "curl, by SOCKS",
    script: "curl -sS -x socks5h://127.0.0.1:3128 https://a.test/",
    out: "hello from a.test\n",
  },
  {
    name: "wget",
    why: lacks("wget"),
    script: `wget -q -O- --ca-certificate=/workspace/ca.pem https://a.test/; ${kDirect} wget -q -O- http://a.test/`,
    out: "hello from a.test\nhello from a.test\n",
  },
  {
    name: "many requests on one connection",
    script: `${kDirect} curl -sS http://a.test/1 http://a.test/2 http://a.test/3; curl -sS http://a.test/4 http://a.test/5`,
    out: "hello from a.test\n".repeat(5),
  },
  {
    name: "a large download",
    script: `${kDirect} curl -sS 'https://a.test/large?${kLargeBytes}' | wc -c; curl -sS 'http://a.test/large?${kLargeBytes}' | wc -c`,
    out: `${kLargeBytes}\n${kLargeBytes}\n`,
  },
  {
    name: "a large upload",
    script: `head -c ${kLargeBytes} /dev/zero > /tmp/large; ${kDirect} curl -sS -T /tmp/large https://a.test/upload
      curl -sS -H 'Expect:' -T /tmp/large http://a.test/upload`,
    out: `${kLargeBytes} ${kLargeHash}\n`.repeat(2),
  },
  { name: "long polling", script: `${kDirect} curl -sS http://a.test/slow`, out: "slow\n" },
  {
    name: "a socket of Python's, on a port of the rules, that closes its half first",
    why: lacks("python3"),
    script: `${kPython} '${kRaw}'`,
    out: "1000000\n",
    port: 9000,
  },
  {
    name: "1,000 connections at once",
    why: lacks("python3"),
    script: `${kPython} '${kMany}'`,
    out: "1000\n",
    port: 9000,
  },
  {
    name: "urllib",
    why: lacks("python3"),
    script: `for way in direct proxy; do [ $way = proxy ] || (${kDirect} ${kPython} 'import urllib.request as r; print(r.urlopen("https://a.test/").read().decode().strip())'); done
      ${kPython} 'import urllib.request as r; print(r.urlopen("http://a.test/").read().decode().strip())'`,
    out: "hello from a.test\nhello from a.test\n",
  },
  {
    name: "Node's fetch",
    script: node(
      'for (const url of ["https://a.test/", "http://a.test/"]) process.stdout.write(await (await fetch(url)).text());',
    ),
    out: "hello from a.test\nhello from a.test\n",
  },
  {
    name: "Node's https",
    script: node(
      'import https from "node:https"; https.get("https://a.test/", (answer) => answer.pipe(process.stdout));',
    ),
    out: "hello from a.test\n",
  },
  {
    name: "HTTP/2, many streams at once",
    script: node(kHttp2),
    out: /^hello from a\.test(:443)?\n$/,
  },
  { name: "a WebSocket", script: node(kWebSocket), out: "ping\n" },
  {
    name: "Java",
    why: lacks("java"),
    script: `mkdir -p /tmp/j; cat > /tmp/j/Fetch.java << 'END'\n${kJava}\nEND\njava /tmp/j/Fetch.java`,
    out: "hello from a.test\n",
  },
  {
    name: "git over https",
    why: lacks("git"),
    script: `${kDirect} git clone -q https://git.test/git/one /tmp/one && cat /tmp/one/file
      cd /tmp/one; unset nothing; git fetch -q && git log --format=%s`,
    out: "content\nfirst\n",
    host: "git.test",
  },
  {
    name: "git over ssh",
    why: lacks("git", "ssh", "ssh-keygen"),
    script: `ssh-keygen -q -t ed25519 -N '' -f /tmp/key
      export GIT_SSH_COMMAND='ssh -F none -i /tmp/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR'
      git clone -q ssh://git@git.test/one /tmp/one && cat /tmp/one/file`,
    out: "content\n",
    host: "git.test",
    port: 22,
  },
  {
    name: "gRPC, a stream in both directions",
    script: `${kNode} $HOSTS/grpc-client.mjs a.test:9001`,
    out: "100\n",
    port: 9001,
  },
  {
    name: "npm",
    script: `${kNpm}; mkdir /tmp/p; cd /tmp/p; echo '{}' > package.json
      npm install --registry http://registry.test --no-audit --no-fund --silent dep > /dev/null && cat node_modules/dep/index.js`,
    out: "module.exports = 1;\n",
    host: "registry.test",
  },
  {
    name: "pnpm",
    script: `${kNpm}; mkdir /tmp/p; cd /tmp/p; echo '{"dependencies":{"dep":"1.0.0"}}' > package.json
      node $PNPM/bin/pnpm.cjs install --registry http://registry.test --silent --store-dir /tmp/store && cat node_modules/dep/index.js`,
    out: "module.exports = 1;\n",
    host: "registry.test",
  },
  {
    name: "pip",
    why: whyNoPip,
    script: `unset PIP_NO_INDEX PIP_FIND_LINKS PIP_CONFIG_FILE; PIP_CONFIG_FILE=/dev/null /usr/bin/python3 -m pip -q --disable-pip-version-check install --index-url https://pypi.test/simple --target /tmp/t dep
      PYTHONPATH=/tmp/t /usr/bin/python3 -c 'import dep; print(dep.one)'`,
    out: "1\n",
    host: "pypi.test",
  },
];

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "by name, reaches what is allowed", () => {
  let ends: Map<string, End>;
  beforeAll(async () => {
    const world = makeWorld([kModules, kHosts]);
    fillWorld(world, lacks("python3") === undefined);
    const ports = ["a.test:9000", "a.test:9001", "git.test:22"];
    const allow = ["a.test", "registry.test", "pypi.test", "git.test", ...ports];
    ends = await tried(world, kClients, { allow, ...kHere });
  }, 300_000);

  for (const { name, why, out, host = "a.test", port } of kClients) {
    testUnless(why, name, () => {
      const end = ends.get(name) as End;
      expect(end.error).toBeUndefined();
      if (typeof out === "string") expect(end.out, end.err).toBe(out);
      else expect(end.out, end.err).toMatch(out);
      const to = end.connections.filter(({ verdict }) => verdict === "allowed");
      expect(to.length).toBeGreaterThan(0);
      for (const each of to) {
        expect(each).toMatchObject({ host, address: "127.0.0.1" });
        if (port !== undefined) expect(each.port).toBe(port);
      }
      const refused = end.connections.filter(({ verdict }) => verdict === "denied");
      expect(refused.filter(({ host: asked }) => asked === host)).toEqual([]);
    });
  }
});
