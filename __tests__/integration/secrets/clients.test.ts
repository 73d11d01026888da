/** Programs that people use, with a placeholder for a token: the servers get the value, the programs never. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";

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
} from "../network/client-programs.js";
import { type End, kHere, makeWorld } from "../network/made-up-internet.js";
import { fillWorld, put } from "../network/made-up-internet-files.js";
import { whyNoOwnNetwork } from "../network/own-network.js";
import { type EngineName, engines } from "../other-hosts/engines.js";
import { lockedPackages } from "../support/locked-packages.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { describeUnless, testUnless, whyNoBubblewrap } from "../support/requirements.js";

/** What the servers want below `/auth/`. */
const kValue = "ghp_value-of-the-secret-0123456789";

const kBearer = '-H "Authorization: Bearer $API_TOKEN"';
const kPython = "/usr/bin/python3";
const kToken = 'const authorization = "Bearer " + process.env.API_TOKEN;';

const kHttp2 = `import http2 from "node:http2"; ${kToken}
  const session = http2.connect("https://a.test");
  let left = 1000; const sums = new Set();
  for (let i = 0; i < 1000; i++) {
    const stream = session.request({ ":path": "/auth/" + i, authorization });
    stream.setEncoding("utf8"); let text = "";
    stream.on("data", (part) => { text += part; });
    stream.on("end", () => { sums.add(text); if (--left === 0) { console.log(sums.size, ...sums); session.close(); } });
  }`;

const kWebSocket = `import https from "node:https"; ${kToken}
  const headers = { authorization, connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  const request = https.get("https://a.test/socket", { headers });
  request.on("upgrade", (response, socket) => {
    const text = Buffer.from("ping");
    const mask = Buffer.from([1, 2, 3, 4]);
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length]), mask,
      text.map((byte, i) => byte ^ mask[i % 4])]));
    let got = "";
    socket.on("data", (part) => {
      got += part.toString("latin1");
      if (got.length === 6) { console.log(got.slice(2)); socket.destroy(); }
    });
  });`;

const kSmall = `import { Agent, get } from "node:https"; ${kToken}
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  let left = 10000, good = 0;
  const next = () => get("https://a.test/auth/x", { agent, headers: { authorization } }, (answer) => {
    if (answer.statusCode === 200) good += 1;
    answer.resume().on("end", () => { left -= 1; if (left >= 8) next(); else if (left === 0) { console.log(good); agent.destroy(); } });
  });
  for (let i = 0; i < 8; i++) next();`;

const kChunked = `import { request } from "node:https"; ${kToken}
  const sent = request("https://a.test/auth/upload", { method: "POST", headers: { authorization } }, (answer) => {
    answer.pipe(process.stdout);
  });
  for (let i = 0; i < 100; i++) sent.write("x".repeat(1000));
  sent.end();`;

const kTrailers = `import http2 from "node:http2"; import https from "node:https"; ${kToken}
  https.get("https://a.test/trailers", { headers: { authorization } }, (answer) => {
    answer.resume().on("end", () => {
      console.log(answer.trailers["x-sum"] === "7 " + authorization);
      const session = http2.connect("https://a.test");
      const stream = session.request({ ":path": "/trailers", authorization });
      stream.on("trailers", (got) => console.log(got["x-sum"] === "7 " + authorization));
      stream.resume().on("end", () => session.close());
    });
  });`;

const kEvents = `${kToken}
  const answer = await fetch("https://a.test/auth/events", { headers: { authorization } });
  let first, text = "";
  for await (const part of answer.body) { first ??= Date.now(); text += Buffer.from(part).toString(); }
  console.log(text.match(/data: \\d/g).join(","), Date.now() - first > 300);`;

const kJava = `import java.net.URI; import java.net.http.*;
class Fetch { public static void main(String[] args) throws Exception {
  var client = HttpClient.newHttpClient();
  var request = HttpRequest.newBuilder(URI.create("https://a.test/auth/java"))
    .header("Authorization", "Bearer " + System.getenv("API_TOKEN")).build();
  System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body()); } }`;

const kEngines = engines();
const engine = (name: EngineName) => kEngines.find((each) => each.name === name);
const kFetch = `const answer = await fetch("https://a.test/auth/", { headers: { authorization: "Bearer " + process.env.API_TOKEN } });
  process.stdout.write(await answer.text());`;

/** Why one of Python's modules can't be tried, or undefined. */
function lacksModule(name: string): string | undefined {
  const tried = spawnSync(kPython, ["-c", `import ${name}`]);
  return tried.status === 0 ? undefined : `there is no ${name} for ${kPython}`;
}

const kClients: Client[] = [
  {
    name: "curl, over HTTP/2, by its way and by the proxy",
    script: `curl -sS ${kBearer} https://a.test/auth/; ${kDirect} curl -sS ${kBearer} https://a.test/auth/`,
    out: "hello from a.test\n".repeat(2),
  },
  {
    name: "curl, over HTTP/1.1, many requests on one connection",
    script: `curl -sS --http1.1 ${kBearer} https://a.test/auth/1 https://a.test/auth/2 https://a.test/auth/3`,
    out: "hello from a.test\n".repeat(3),
  },
  {
    name: "curl, by SOCKS",
    script: `curl -sS -x socks5h://127.0.0.1:3128 ${kBearer} https://a.test/auth/`,
    out: "hello from a.test\n",
  },
  {
    name: "curl, HEAD, a range, and an answer without a body",
    script: `${kDirect} curl -sS --http1.1 -I ${kBearer} https://a.test/auth/ | head -1
      curl -sSI ${kBearer} https://a.test/auth/ | head -1
      curl -sS -H 'If-None-Match: x' -r 0-4 ${kBearer} https://a.test/auth/`,
    out: "HTTP/1.1 200 OK\r\nHTTP/2 200 \r\nhello from a.test\n",
  },
  {
    name: "wget",
    why: lacks("wget"),
    script: 'wget -q -O- --header "Authorization: Bearer $API_TOKEN" https://a.test/auth/',
    out: "hello from a.test\n",
  },
  {
    name: "a large download, over both",
    script: `curl -sS ${kBearer} 'https://a.test/auth/large?${kLargeBytes}' | wc -c
      curl -sS --http1.1 ${kBearer} 'https://a.test/auth/large?${kLargeBytes}' | wc -c`,
    out: `${kLargeBytes}\n`.repeat(2),
  },
  {
    name: "a large upload, over both, and after 100-continue",
    script: `head -c ${kLargeBytes} /dev/zero > /tmp/large
      curl -sS ${kBearer} -T /tmp/large https://a.test/auth/upload
      curl -sS --http1.1 ${kBearer} -T /tmp/large https://a.test/auth/upload
      curl -sS --http1.1 ${kBearer} -H 'Expect: 100-continue' -d abc https://a.test/auth/upload | head -c 2`,
    out: `${`${kLargeBytes} ${kLargeHash}\n`.repeat(2)}3 `,
  },
  { name: "chunks", script: node(kChunked), out: /^100000 / },
  { name: "trailers, over both", script: node(kTrailers), out: "true\ntrue\n" },
  { name: "events, as they come", script: node(kEvents), out: "data: 1,data: 2,data: 3 true\n" },
  { name: "1,000 streams at once", script: node(kHttp2), out: /^1 hello from a\.test(:443)?\n/ },
  { name: "10,000 small requests", script: node(kSmall), out: "10000\n" },
  {
    name: "gRPC, a stream in both directions",
    script: `${kNodeProgram} $HOSTS/grpc-client.mjs a.test:9443`,
    out: "100\n",
    port: 9443,
  },
  { name: "a WebSocket", script: node(kWebSocket), out: "ping\n" },
  {
    name: "Python's urllib",
    why: lacks("python3"),
    script: `${kPython} -c 'import os, urllib.request as r
q = r.Request("https://a.test/auth/", headers={"Authorization": "Bearer " + os.environ["API_TOKEN"]})
print(r.urlopen(q).read().decode().strip())'`,
    out: "hello from a.test\n",
  },
  {
    name: "Python's requests",
    why: lacksModule("requests"),
    script: `${kPython} -c 'import os, requests
s = requests.Session(); s.headers["Authorization"] = "Bearer " + os.environ["API_TOKEN"]
print(s.get("https://a.test/auth/").text.strip(), s.get("https://a.test/auth/", auth=("me", os.environ["API_TOKEN"])).status_code)'`,
    out: "hello from a.test 200\n",
  },
  {
    name: "Python's httpx, over both",
    why: lacksModule("httpx, h2"),
    script: `${kPython} -c 'import os, httpx
for both in (False, True):
  with httpx.Client(http2=both, headers={"Authorization": "Bearer " + os.environ["API_TOKEN"]}) as c:
    r = c.get("https://a.test/auth/"); print(r.http_version, r.text.strip())'`,
    out: /^HTTP\/1.1 hello from a\.test\nHTTP\/2 hello from a\.test(:443)?\n$/,
  },
  {
    name: "Deno",
    why: engine("Deno")?.whyNot,
    script: `cat > /tmp/f.mjs << 'END'\nimport process from "node:process"; ${kFetch}\nEND
      DENO_NO_UPDATE_CHECK=1 ${engine("Deno")?.words[0]} run --allow-all --no-lock /tmp/f.mjs`,
    out: "hello from a.test\n",
  },
  {
    name: "Bun",
    why: engine("Bun")?.whyNot,
    script: `cat > /tmp/f.mjs << 'END'\n${kFetch}\nEND\n${engine("Bun")?.words[0]} /tmp/f.mjs`,
    out: "hello from a.test\n",
  },
  {
    name: "gh, a program in Go",
    why: lacks("gh"),
    script: "GH_HOST=a.test GH_ENTERPRISE_TOKEN=$API_TOKEN gh api https://a.test/auth/",
    out: "hello from a.test\n",
  },
  {
    name: "Java",
    why: lacks("java"),
    script: `mkdir -p /tmp/j; cat > /tmp/j/Fetch.java << 'END'\n${kJava}\nEND\njava /tmp/j/Fetch.java`,
    out: "hello from a.test\n",
  },
  {
    name: "git: clone, fetch and push with Basic",
    why: lacks("git"),
    host: "git.test",
    script: `cd /tmp; export GIT_TERMINAL_PROMPT=0
      git clone -q https://me:$API_TOKEN@git.test/auth/git/one one; cat one/file; cd one; git fetch -q
      head -c 8000000 /dev/urandom > large; git add .
      git -c user.name=A -c user.email=a@a.test commit -qm second; git push -q origin HEAD:second && echo pushed`,
    out: "content\npushed\n",
  },
  {
    name: "git, by a credential helper",
    why: lacks("git"),
    host: "git.test",
    script: `cd /tmp; export GIT_TERMINAL_PROMPT=0
      git -c credential.helper='!f() { echo username=me; echo "password=$API_TOKEN"; }; f' clone -q https://git.test/auth/git/one two; cat two/file`,
    out: "content\n",
  },
  {
    name: "git: large files by LFS, pushed and cloned",
    why: lacks("git-lfs"),
    host: "git.test",
    script: `cd /tmp; export GIT_TERMINAL_PROMPT=0; git config --global user.name A; git config --global user.email a@a.test
      git lfs install --skip-repo > /dev/null; git clone -q https://me:$API_TOKEN@git.test/auth/git/one lfs; cd lfs
      git checkout -q -b large; git lfs track '*.bin' > /dev/null; head -c 20000000 /dev/urandom > a.bin; sha256sum < a.bin > /tmp/sum
      git add .; git commit -qm large; git push -q origin HEAD:large > /dev/null
      git cat-file blob HEAD:a.bin | head -c 43; echo; rm -rf /tmp/lfs; cd /tmp
      git clone -q -b large https://me:$API_TOKEN@git.test/auth/git/one again; sha256sum < again/a.bin | cmp - /tmp/sum && echo same`,
    out: "version https://git-lfs.github.com/spec/v1\n\nsame\n",
  },
  {
    name: "npm: install and publish",
    host: "registry.test",
    script: `${kNpm}; mkdir /tmp/p; cd /tmp/p; echo '{"name":"mine","version":"1.0.0"}' > package.json
      echo '//registry.test/auth/:_authToken=\${API_TOKEN}' > .npmrc; unset npm_config_cafile
      npm install --registry https://registry.test/auth/ --no-audit --no-fund --silent private > /dev/null && cat node_modules/private/index.js
      npm publish --registry https://registry.test/auth/ --silent > /dev/null && echo published`,
    out: "module.exports = 1;\npublished\n",
  },
  {
    name: "pnpm",
    host: "registry.test",
    script: `${kNpm}; mkdir /tmp/p; cd /tmp/p; echo '{"dependencies":{"private":"1.0.0"}}' > package.json
      echo '//registry.test/auth/:_authToken=\${API_TOKEN}' > ~/.npmrc; unset npm_config_cafile
      node $PNPM/bin/pnpm.cjs install --registry https://registry.test/auth/ --silent --store-dir /tmp/store && cat node_modules/private/index.js`,
    out: "module.exports = 1;\n",
  },
  {
    name: "pip, from an index with Basic",
    host: "pypi.test",
    why: whyNoPip,
    script: `unset PIP_NO_INDEX PIP_FIND_LINKS; PIP_CONFIG_FILE=/dev/null ${kPython} -m pip -q --disable-pip-version-check install --index-url https://me:$API_TOKEN@pypi.test/auth/simple --target /tmp/t dep
      PYTHONPATH=/tmp/t ${kPython} -c 'import dep; print(dep.one)'`,
    out: "1\n",
  },
];

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "with a placeholder", () => {
  let ends: Map<string, End>;
  beforeAll(async () => {
    const shown = kEngines.some(({ whyNot }) => whyNot === undefined) ? ["other-hosts"] : [];
    const world = makeWorld([kModules, kHosts, ...shown.map(lockedPackages)]);
    fillWorld(world, lacks("python3") === undefined);
    spawnSync("git", [
      "-C",
      join(world.directory, "git/one"),
      "config",
      "http.receivepack",
      "true",
    ]);
    const dist = { tarball: "https://registry.test/auth/dep-1.0.0.tgz" };
    const versions = { "1.0.0": { name: "private", version: "1.0.0", dist } };
    const about = { name: "private", "dist-tags": { latest: "1.0.0" }, versions };
    put(world, "files/registry.test/private", JSON.stringify(about));
    const hosts = ["a.test", "a.test:9443", "git.test", "registry.test", "pypi.test"];
    const network = {
      allow: hosts,
      ...kHere,
      secrets: [{ name: "API_TOKEN", value: kValue, hosts }],
    };
    ends = await tried(world, kClients, network);
  }, 300_000);

  for (const { name, why, out, host = "a.test", port = 443 } of kClients) {
    testUnless(why, name, () => {
      const end = ends.get(name) as End;
      expect(end.error).toBeUndefined();
      if (typeof out === "string") expect(end.out, end.err).toBe(out);
      else expect(end.out, end.err).toMatch(out);
      const { requests = [], connections } = end;
      expect(JSON.stringify([end.out, end.err, requests, connections])).not.toContain(kValue);
      expect(requests.length).toBeGreaterThan(0);
      for (const each of requests) expect(each).toMatchObject({ host, port, verdict: "allowed" });
      expect(requests.some(({ secret }) => secret === "API_TOKEN")).toBe(true);
      expect(end.denials ?? []).toEqual([]);
    });
  }
});
