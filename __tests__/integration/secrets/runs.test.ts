/** Secrets in each kind of run, from each source; and what becomes of a run that misuses one. */

import { spawnSync } from "node:child_process";
import { beforeAll, expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";

import {
  type End,
  type Job,
  kHere,
  type MadeUpSecret,
  makeWorld,
} from "../network/made-up-internet.js";
import { whyNoOwnNetwork } from "../network/own-network.js";
import { kNodeInside } from "../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kPackage = new URL("../../../dist/index.js", import.meta.url).href;
const kValue = "ghp_value-of-the-secret-0123456789";
const kNext = "ghp_the-next-value-0123456789abcdef";
const kSent = `Bearer ${kValue}`;
const kCurl = 'curl -sS -o /dev/null -w "%{http_code}\\n" -H "Authorization: Bearer $API_TOKEN"';
const kAsk = `${kCurl} https://a.test/echo`;
const networkWith = (secret: Partial<MadeUpSecret> = {}) => ({
  allow: ["a.test", "b.test"],
  ...kHere,
  secrets: [
    { name: "API_TOKEN", value: kValue, hosts: ["a.test"], ...secret },
    { name: "OTHER", value: "another-value-0123456789", hosts: ["b.test"] },
  ],
});

const kJobs: Record<string, Job> = {
  cold: { network: networkWith(), script: kAsk },
  prewarmed: { kind: "prewarmed", network: networkWith(), script: kAsk },
  session: { kind: "session", network: networkWith(), script: kAsk },
  live: { kind: "live", network: networkWith(), script: kAsk },
  transaction: { kind: "transaction", network: networkWith(), script: kAsk },
  project: { kind: "project", network: networkWith(), script: kAsk },
  "three at once": { network: networkWith(), script: kAsk, atOnce: 3 },
  "the host's own variable": {
    network: networkWith(),
    script: `${kAsk}; [ "$API_TOKEN" != ${kValue} ] && echo hidden`,
    env: { API_TOKEN: kValue },
  },
  "a function": {
    network: networkWith({ value: { texts: [kValue] } }),
    script: `for i in 1 2 3 4; do ${kAsk} & done; wait; ${kAsk}`,
  },
  "a function whose value expires": {
    network: networkWith({ value: { texts: [kValue, kNext], forMs: 5000 } }),
    script: `${kAsk}; ${kAsk}; sleep 5.1; ${kAsk}`,
  },
  "a function that throws": {
    network: networkWith({ value: { texts: [] } }),
    script: `curl -sS -H "Authorization: Bearer $API_TOKEN" https://a.test/echo; ${kCurl.replace("API_TOKEN", "OTHER")} https://b.test/`,
  },
  "a function with a value that no header may have": {
    network: networkWith({ value: { texts: ["two\nlines-of-the-secret"] } }),
    script: 'curl -sS -H "Authorization: Bearer $API_TOKEN" https://a.test/echo',
  },
  "a terminator that ends": {
    network: networkWith(),
    script: `${kAsk}; until [ -e gone ]; do sleep 0.05; done; ${kAsk}; ${kCurl} -k https://b.test/`,
    endsTerminator: true,
  },
  "the run after it": { network: networkWith(), script: kAsk },
  "misuse that ends the run": {
    network: networkWith({ onMisuse: "end" }),
    script: `${kAsk}; ${kCurl} https://b.test/; sleep 60; echo late`,
  },
  "misuse that ends a live process": {
    kind: "live",
    network: networkWith({ onMisuse: "end" }),
    script: `${kCurl} https://b.test/; sleep 60; echo late`,
  },
  "misuse of another one, that ends nothing": {
    network: networkWith({ onMisuse: "end" }),
    script: `${kCurl.replace("API_TOKEN", "OTHER")} https://a.test/; ${kAsk}`,
  },
};

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "secrets", () => {
  const ends = new Map<string, End>();
  const endOf = (name: string) => ends.get(name) as End;
  beforeAll(async () => {
    const done = await makeWorld().run(Object.values(kJobs));
    for (const [at, name] of Object.keys(kJobs).entries()) ends.set(name, done[at] as End);
  }, 120_000);
  const sent = (name: string) => endOf(name).hits.map(({ authorization }) => authorization);

  test.each(["cold", "prewarmed", "session", "live", "transaction"])("of a run: %s", (name) => {
    const { error, out, err, requests, outcome } = endOf(name);
    expect({ error, out, err, outcome }).toMatchObject({
      out: "200\n",
      outcome: { kind: "exited" },
    });
    expect(sent(name)).toEqual([kSent]);
    const record = { host: "a.test", method: "GET", path: "/echo", status: 200 };
    expect(requests).toEqual([
      {
        ...{ ...record, port: 443, secret: "API_TOKEN", verdict: "allowed" },
        durationMs: expect.any(Number),
      },
    ]);
  });

  test("of a project's commands", () => {
    expect(endOf("project").out, endOf("project").error).toContain("200\n");
    expect(sent("project")).toEqual([kSent]);
  });

  test("of runs at once", () => {
    expect(sent("three at once")).toEqual([kSent, kSent, kSent]);
    expect(endOf("three at once").requests).toHaveLength(1);
  });

  test("a variable of that name does not get in", () => {
    expect(endOf("the host's own variable").out).toBe("200\nhidden\n");
  });

  test("a function is asked once for all that wait, and for the run", () => {
    expect(sent("a function")).toEqual(Array(5).fill(kSent));
    expect(endOf("a function").valuesAsked).toBe(1);
  });

  test("a function is asked again when its value has expired", () => {
    const name = "a function whose value expires";
    expect(sent(name)).toEqual([kSent, kSent, `Bearer ${kNext}`]);
    expect(endOf(name).valuesAsked).toBe(2);
  });

  test.each(["a function that throws", "a function with a value that no header may have"])(
    "%s fails the request, and the run goes on",
    (name) => {
      const end = endOf(name);
      expect(end.out).toMatch(
        /^native-runner: the value of API_TOKEN can't be had at the moment\n/,
      );
      expect(end.outcome).toEqual({ kind: "exited" });
      expect(end.requests?.[0]).toMatchObject({ status: 502, verdict: "refused" });
      expect(JSON.stringify(end)).not.toMatch(/vault|of-the-secret/);
    },
  );

  test("a terminator that ends in the middle takes no run with it, and lets nothing through", () => {
    const end = endOf("a terminator that ends");
    expect(end.error).toBeUndefined();
    expect(end.outcome).toEqual({ kind: "exited" });
    expect(end.out).toBe("200\n000\n000\n");
    expect(end.hits).toHaveLength(1);
    expect(end.connections.map(({ reason }) => reason)).toEqual([
      undefined,
      ...Array(2).fill("nothing on the host ends its TLS"),
    ]);
    expect([end.requests?.length, end.requestsOmitted]).toEqual([1, 1]);
    expect(endOf("the run after it").out).toBe("200\n");
  });

  test.each(["misuse that ends the run", "misuse that ends a live process"])("%s", (name) => {
    const { outcome, exitCode, denials, requests, out } = endOf(name);
    expect({ outcome, exitCode }).toEqual({
      outcome: { kind: "limit-exceeded", limit: "secret" },
      exitCode: 137,
    });
    expect(out).not.toContain("late");
    expect(requests?.at(-1)).toMatchObject({ host: "b.test", verdict: "refused", status: 403 });
    expect(denials).toContainEqual(
      expect.objectContaining({ kind: "secret", host: "b.test", by: "network", count: 1 }),
    );
  });

  test("misuse of a secret that only refuses", () => {
    const end = endOf("misuse of another one, that ends nothing");
    expect(end.outcome).toEqual({ kind: "exited" });
    expect(end.out).toBe("403\n200\n");
  });
});

describeUnless(whyNoBubblewrap, "a host whose runner has secrets", () => {
  // What it does with the runner; all of them make one, which starts the thread.
  test.each([
    ["does nothing with it", "", ""],
    ["is refused one", 'isolation: "compat"', "ERR_INVALID_ARG_VALUE"],
    ["has had a run", "", "0"],
  ])("ends by itself when it %s", (_, option, said) => {
    const program = `import { BubblewrapNativeRunner } from ${JSON.stringify(kPackage)};
      const secrets = [{ name: "API_TOKEN", value: "${kValue}", hosts: ["a.test"] }];
      const options = { shadowDir: process.argv[1], network: { allow: ["a.test"], secrets }, ${option} };
      try {
        const runner = new BubblewrapNativeRunner(options);
        if (process.argv[2] === "0") process.stdout.write(String((await runner.exec({ argv: ["true"] })).exitCode));
      } catch (error) { process.stdout.write(error.code); }`;
    const [node = "", ...words] = kNodeInside;
    const args = [...words, "--input-type=module", "-e", program, tempDirectory(), said];
    const { status, stdout, stderr } = spawnSync(node, args, {
      encoding: "utf8",
      timeout: kHungMs,
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: said, stderr: "" });
  });
});
