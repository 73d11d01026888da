/** What demo-node asks about the network, and what it remembers. */

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { Consent } from "../../../examples/demo-node/network/consent.js";
import { Remembered, rememberedFile } from "../../../examples/demo-node/network/remembered.js";
import { tempDirectory } from "../support/temp.js";

const request = (
  host = "a.test",
  script = "npm install",
  signal = new AbortController().signal,
) => ({
  host,
  port: 443,
  via: "connect" as const,
  command: ["bash", "-c", script],
  signal,
});

/** A consent whose answers are given; and what it asked. */
function makeConsent(answers: string[], allow: string[] = []) {
  const file = join(tempDirectory("consent"), "demo-node", "network.json");
  const consent = new Consent(new Remembered(file, allow));
  const asked: string[] = [];
  consent.ask = async (question) => {
    asked.push(question);
    return answers.shift() ?? "";
  };
  return { consent, asked, file };
}

test("the question names the command and the place", async () => {
  const { consent, asked } = makeConsent(["o"]);
  expect(await consent.onRequest(request())).toBe("allow");
  expect(asked).toEqual([
    "npm install wants a.test:443: allow [o]nce, for this [s]ession, [a]lways, [d]eny? ",
  ]);
  await consent.onRequest(request("b.test", `\u001b[2Jevil ${"x".repeat(99)}`));
  expect(asked[1]).toMatch(/^evil x+… wants b\.test:443/);
});

test.each([
  ["o", "allow"],
  ["once", "allow"],
  [" S ", "allow"],
  ["session", "allow"],
  ["a", "allow"],
  ["always", "allow"],
  ["d", "deny"],
  ["", "deny"],
  ["yes", "deny"],
  ["allow", "deny"],
])("%j is %s", async (answer, decision) => {
  const { consent } = makeConsent([answer]);
  expect(await consent.onRequest(request())).toBe(decision);
});

test("once is once, a session is the session, always is for good", async () => {
  const { consent, asked, file } = makeConsent(["o", "s", "a"]);
  for (const host of ["a.test", "a.test", "a.test"]) await consent.onRequest(request(host));
  expect(asked).toHaveLength(2); // once, then for the session
  await consent.onRequest(request("b.test"));
  await consent.onRequest(request("b.test"));
  expect(asked).toHaveLength(3);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ allow: ["b.test:443"] });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const next = new Consent(await Remembered.read(file));
  expect(await next.onRequest(request("b.test"))).toBe("allow");
  expect(await next.onRequest(request("a.test"))).toBe("deny"); // and nobody to ask
});

test("a command that was denied is not asked about again, another one is", async () => {
  const { consent, asked } = makeConsent(["d", "o"]);
  expect(await consent.onRequest(request())).toBe("deny");
  expect(await consent.onRequest(request())).toBe("deny");
  expect(asked).toHaveLength(1);
  expect(await consent.onRequest(request("a.test", "curl a.test"))).toBe("allow");
});

test("one question comes after the other, and a failed one is a denial of its own", async () => {
  const { consent } = makeConsent([]);
  let open = 0;
  let most = 0;
  consent.ask = async (question) => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 5));
    open -= 1;
    if (question.includes("a.test")) throw new Error("closed");
    return "o";
  };
  const answers = ["a.test", "b.test", "c.test"].map((host) => consent.onRequest(request(host)));
  expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual([
    "rejected", // which is a denial for whoever asked
    "fulfilled",
    "fulfilled",
  ]);
  expect(most).toBe(1);
});

test("without a terminal, and when nobody waits any more, it is a denial", async () => {
  const { consent, asked } = makeConsent(["o"], ["b.test:443"]);
  const gone = AbortSignal.abort();
  expect(await consent.onRequest(request("a.test", "x", gone))).toBe("deny");
  consent.ask = undefined;
  expect(await consent.onRequest(request())).toBe("deny");
  expect(await consent.onRequest(request("b.test"))).toBe("allow");
  expect(asked).toEqual([]);
});

test("what is remembered is read strictly", async () => {
  const directory = tempDirectory("remembered");
  const file = join(directory, "network.json");
  expect((await Remembered.read(file)).allow).toEqual([]);
  writeFileSync(file, '{ "allow": ["a.test:443"] }');
  expect((await Remembered.read(file)).allow).toEqual(["a.test:443"]);
  for (const wrong of [
    "",
    "{",
    "[]",
    "{}",
    '{ "allow": "a" }',
    '{ "allow": ["*"] }',
    '{ "allow": [], "deny": [] }',
  ]) {
    writeFileSync(file, wrong);
    await expect(Remembered.read(file)).rejects.toThrow("which says what commands may reach");
  }
  await expect(Remembered.read(directory)).rejects.toThrow("it is no file of at most 64 KiB");
  expect(rememberedFile({ XDG_CONFIG_HOME: "/x" })).toBe("/x/demo-node/network.json");
});

test("a credential is used once the person agrees, and asked about once in a session", async () => {
  const credential = { name: "TOKEN", hosts: ["a.test", "b.test"], value: "its value" };
  const { consent, asked } = makeConsent(["s", "d"]);
  expect(await consent.valueOf(credential)).toBe("its value");
  expect(await consent.valueOf(credential)).toBe("its value");
  expect(asked).toEqual([
    "a command uses TOKEN at a.test, b.test: allow it in this [s]ession, [d]eny? ",
  ]);
  const other = { ...credential, name: "OTHER" };
  for (let times = 0; times < 2; times += 1) {
    await expect(consent.valueOf(other)).rejects.toThrow("OTHER may not be used");
  }
  expect(asked).toHaveLength(2);
});

test.each(["", "yes", "always"])("%j is no consent to a credential", async (answer) => {
  const { consent } = makeConsent([answer]);
  const credential = { name: "TOKEN", hosts: ["a.test"], value: "its value" };
  await expect(consent.valueOf(credential)).rejects.toThrow("may not be used");
});

test("where nobody can be asked a credential is not used", async () => {
  const { consent } = makeConsent([]);
  consent.ask = undefined;
  const credential = { name: "TOKEN", hosts: ["a.test"], value: "its value" };
  await expect(consent.valueOf(credential)).rejects.toThrow("may not be used");
});
