/** `network.secrets` and `network.http` as they are read: each wrong value is refused by its name, and never shown. */

import { inspect } from "node:util";
import { describe, expect, test } from "vitest";

import { networkOption } from "../../lib/network.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";
import { givenValue, secretsPolicy } from "../../lib/secrets/policy.js";
import type { Secret } from "../../types/public.js";

const kValue = "value-of-the-secret-token";
const secret = (more: object = {}) => ({
  secrets: [{ name: "TOKEN", value: kValue, hosts: ["a.test"], ...more }],
});
const rule = (more: object = {}) => ({ http: [{ host: "a.test", ...more }] });
const read = (network: object) => () => secretsPolicy(network as never);

describe("what follows from them", () => {
  test("hosts with ports, plain ones that are refused, and texts without values", () => {
    const policy = secretsPolicy({
      secrets: [
        { name: "B", value: kValue, hosts: ["b.test:8443/v1/*", "A.test"], as: "bearer" },
        { name: "A", value: () => kValue, hosts: ["a.test"], as: "basic", onMisuse: "end" },
      ],
      http: [
        { host: "a.test", methods: ["POST", "GET"], paths: ["/x/../y", "/"] },
        { host: "c.test:8080" },
      ],
    });
    expect(policy?.hosts).toEqual(["b.test:8443", "a.test:443", "c.test:8080"]);
    expect(policy?.plain).toEqual(["a.test:80"]);
    expect(policy?.texts).toEqual([
      'http a.test:443 GET,POST ["/","/y"]',
      "http c.test:8080 * *",
      'secret A basic "x-access-token" end ["a.test:443"]',
      'secret B bearer ["a.test:443","b.test:8443/v1/*"]',
    ]);
    expect(secretsPolicy({})).toBeUndefined();
    expect(secretsPolicy({ secrets: [], http: [] })).toBeUndefined();
  });

  test("a runner's own option has no value, and is the same for what derives from it", () => {
    const asked = networkOption({ allow: ["a.test"], ...secret() });
    expect(JSON.stringify(asked.own)).not.toContain(kValue);
    expect(JSON.stringify(asked.native)).not.toContain(kValue);
    expect(asked.own).toMatchObject({ secrets: [{ name: "TOKEN", hosts: ["a.test"] }] });
    expect(networkOption(asked.own).secrets).toBe(asked.secrets);
  });
});

test.each<[object, RegExp]>([
  [{ secrets: {} }, /`network\.secrets` to be an array, got an object/],
  [{ secrets: "value-of-the-secret" }, /`network\.secrets` to be an array, got a string$/],
  [{ secrets: ["value-of-the-secret"] }, /`network\.secrets\[0\]` to be an object, got a string$/],
  [secret({ name: "value-of-the-secret" }), /a variable's name .*, got a text of 19 characters$/],
  [secret({ name: 5 }), /secrets\[0\]\.name` to be a string/],
  [secret({ hots: [] }), /Unknown field "hots" in `network\.secrets\[0\]`; did you mean `hosts`\?/],
  [secret({ name: "PATH" }), /a variable's name that commands can do without, got "PATH"/],
  [secret({ name: "SSL_CERT_FILE" }), /commands can do without/],
  [secret({ value: undefined }), /secrets\[0\]\.value` to be a string or a function/],
  [secret({ value: 12 }), /to be a string or a function$/],
  [secret({ value: "of-the-secret\nx" }), /printable ASCII/],
  [secret({ value: "secret" }), /12 to 16384 characters, got 6/],
  [secret({ hosts: "a.test" }), /hosts` to be an array/],
  [secret({ hosts: [] }), /hosts` to name a host, got an empty list/],
  [secret({ hosts: ["*.test"] }), /hosts\[0\]` to be a host such as .*, got "\*\.test"/],
  [secret({ hosts: ["a.test", "127.0.0.1"] }), /hosts\[1\]` to be a host/],
  [secret({ hosts: ["a.test:0"] }), /hosts\[0\]` to be a host/],
  [secret({ hosts: ["a.test/a*"] }), /hosts\[0\]` to have a path, whose last segment may be "\*"/],
  [secret({ hosts: ["https://a.test"] }), /hosts\[0\]` to be a host/],
  [secret({ as: "token" }), /as` to be "placeholder", "bearer", "basic", .*got "token"/],
  [secret({ as: { header: "Host" } }), /a header that a request may choose, got "Host"/],
  [secret({ as: { header: "a b" } }), /a header that a request may choose/],
  [secret({ as: { header: "x", query: "y" } }), /as` to be "placeholder"/],
  [secret({ as: { query: "" } }), /as\.query` to name a parameter/],
  [secret({ username: "me" }), /username` to be left out unless `as` is "basic"/],
  [secret({ as: "basic", username: "a:b" }), /without a colon/],
  [secret({ onMisuse: "kill" }), /onMisuse` to be "refuse" or "end", got "kill"/],
  [
    { secrets: [...secret().secrets, ...secret({ value: "another-value-x" }).secrets] },
    /secrets\[1\]\.name` to be another/,
  ],
  [
    { secrets: [...secret().secrets, ...secret({ name: "B", value: `${kValue}-2` }).secrets] },
    /secrets\[0\]\.value` to be no part of another secret's value/,
  ],
  [{ http: "a.test" }, /`network\.http` to be an array/],
  [
    rule({ method: "GET" }),
    /Unknown field "method" in `network\.http\[0\]`; did you mean `methods`\?/,
  ],
  [rule({ host: "a.test/v1" }), /host` to be without a path: `paths` has it/],
  [rule({ methods: ["get"] }), /methods\[0\]` to be a method in upper case, got "get"/],
  [rule({ paths: ["v1"] }), /paths\[0\]` to be a path/],
  [rule({ paths: ["/v1/*/x"] }), /paths\[0\]` to be a path, whose last segment may be "\*"/],
  [rule({ paths: ["/v1?x=1"] }), /paths\[0\]` to be a path/],
  [rule({ paths: ["/%2e%2e/x"] }), /paths\[0\]` to be a path/],
])("refused: %j", (network, message) => {
  expect(read(network)).toThrow(message);
  try {
    read(network)();
  } catch (error) {
    expect(String(error)).not.toContain("of-the-secret");
  }
});

test("what a function may give", () => {
  const expiresAt = new Date(5);
  expect(givenValue("x")).toEqual({ value: "x", expiresMs: undefined });
  expect(givenValue({ value: "x", expiresAt })).toEqual({ value: "x", expiresMs: 5 });
  for (const wrong of [undefined, null, 1, {}, { value: "x" }, { value: "x", expiresAt: 5 }]) {
    expect(givenValue(wrong)).toBeUndefined();
  }
  expect(givenValue({ value: "x", expiresAt: new Date(Number.NaN) })).toBeUndefined();
});

test("a configuration has no value in sight, and a runner has it still", () => {
  const written = { name: "TOKEN", value: kValue, hosts: ["a.test"], on_misuse: "end" };
  const { network } = parseRuntimeConfig({ network: { allow: ["a.test"], secrets: [written] } });
  expect(inspect(network, { depth: 9 }) + JSON.stringify(network)).not.toContain(kValue);
  const { secrets } = network as { secrets: readonly Secret[] };
  expect(secrets).toEqual([
    { name: "TOKEN", value: expect.any(Function), hosts: ["a.test"], onMisuse: "end" },
  ]);
  expect(secretsPolicy({ secrets })?.secrets[0]?.value).toBe(kValue);
  for (const wrong of [kValue, [kValue], [{ ...written, value: [kValue] }]]) {
    expect(() => parseRuntimeConfig({ network: { allow: [], secrets: wrong } })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(kValue) }),
    );
  }
});
