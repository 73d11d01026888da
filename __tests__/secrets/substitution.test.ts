/** Which secrets a request needs or misuses, and what is put into it. */

import { describe, expect, test } from "vitest";

import { checkSecretValue, placeholderFor } from "../../lib/secrets/placeholder.js";
import {
  judge,
  type Placement,
  type Request,
  type RunSecret,
  substitute,
} from "../../lib/secrets/substitution.js";
import { normalisedPath, readTarget } from "../../lib/secrets/target.js";

const kValue = "ghp_0123456789abcdefghij";
const kPlaceholder = placeholderFor(kValue);

const secretOf = (
  placement: Placement = { as: "placeholder" },
  hosts = ["api.test/v1/*"],
): RunSecret => ({
  name: "API_TOKEN",
  placeholder: kPlaceholder,
  targets: hosts.map((host) => readTarget(host, "hosts")),
  placement,
});
const requestOf = (headers: [string, string][], more: Partial<Request> = {}): Request => ({
  host: "api.test",
  port: 443,
  path: normalisedPath("/v1/a") ?? [],
  query: "",
  rawPath: "/v1/a",
  headers,
  ...more,
});
const base64 = (text: string) => Buffer.from(text).toString("base64");

function sent(secret: RunSecret, request: Request) {
  const verdict = judge(request, [secret]);
  if (verdict.kind !== "send") throw new Error(`it is ${verdict.kind}`);
  const { headers, query } = substitute(
    request,
    new Map(verdict.needs.map((each) => [each, kValue])),
  );
  return { headers, query };
}

describe("a placeholder", () => {
  test("is as long as the value, begins as well-known tokens do, and is another one each time", () => {
    expect(kPlaceholder).toMatch(/^ghp_[A-Za-z0-9]{20}$/);
    expect(placeholderFor(kValue)).not.toBe(kPlaceholder);
    expect(placeholderFor("sk-short12345")).toMatch(/^[A-Za-z0-9]{13}$/);
    expect(placeholderFor(undefined)).toMatch(/^[A-Za-z0-9]{40}$/);
  });

  test.each([
    "short",
    "with\nline break",
    " blanks-around ",
    "with\r\nInjected: header",
    " blanks around ",
    "ümlaut-ümlaut",
    "x".repeat(20_000),
    "",
  ])("a value that can't be had by every client is refused, and not shown: %j", (value) => {
    const check = () => checkSecretValue(value, "secrets[0].value");
    expect(check).toThrow(/^Expected `secrets\[0\]\.value` to /);
    if (value.length > 0) expect(check).not.toThrow(value.slice(0, 40));
  });
});

describe("what is put in", () => {
  test.each<[string, [string, string][], [string, string][]]>([
    [
      "a header",
      [["Authorization", `Bearer ${kPlaceholder}`]],
      [["Authorization", `Bearer ${kValue}`]],
    ],
    [
      "several",
      [
        ["x-a", `${kPlaceholder},${kPlaceholder}`],
        ["x-b", "b"],
      ],
      [
        ["x-a", `${kValue},${kValue}`],
        ["x-b", "b"],
      ],
    ],
    [
      "Basic",
      [["authorization", `Basic ${base64(`x-token:${kPlaceholder}`)}`]],
      [["authorization", `Basic ${base64(`x-token:${kValue}`)}`]],
    ],
    [
      "the user of Basic",
      [["Authorization", `basic ${base64(`${kPlaceholder}:`)}`]],
      [["Authorization", `basic ${base64(`${kValue}:`)}`]],
    ],
    ["nothing", [["Accept", "*/*"]], [["Accept", "*/*"]]],
  ])("%s", (_, given, wanted) => {
    expect(sent(secretOf(), requestOf(given)).headers).toEqual(wanted);
  });

  test("the query, in its coding", () => {
    const query = `a=1&key=${kPlaceholder}&b=%20`;
    expect(sent(secretOf(), requestOf([], { query })).query).toBe(`a=1&key=${kValue}&b=%20`);
  });

  const kOwn: [string, string][] = [
    ["Authorization", "Bearer of-the-command"],
    ["X-Key", "mine"],
  ];
  test.each<[Placement, [string, string][], string]>([
    [
      { as: "bearer" },
      [
        ["X-Key", "mine"],
        ["Authorization", `Bearer ${kValue}`],
      ],
      "k=mine&%6b=mine&x",
    ],
    [
      { as: "basic", username: "me" },
      [
        ["X-Key", "mine"],
        ["Authorization", `Basic ${base64(`me:${kValue}`)}`],
      ],
      "k=mine&%6b=mine&x",
    ],
    [
      { as: "header", header: "x-key" },
      [kOwn[0] ?? ["", ""], ["x-key", kValue]],
      "k=mine&%6b=mine&x",
    ],
    [{ as: "query", query: "k" }, kOwn, `x&k=${kValue}`],
  ])("as %j, whatever the command sent", (placement, headers, query) => {
    const request = requestOf(kOwn, { query: "k=mine&%6b=mine&x" });
    expect(sent(secretOf(placement), request)).toEqual({ headers, query });
  });
});

describe("misuse", () => {
  const kElsewhere: [string, Partial<Request>][] = [
    ["another host", { host: "evil.test" }],
    ["another port", { port: 8443 }],
    ["another path", { path: normalisedPath("/v2/a") ?? [] }],
    ["a path that leads out", { path: normalisedPath("/v1/../v2") ?? [] }],
  ];
  const kWays: [string, Partial<Request>][] = [
    ["a header", { headers: [["a", kPlaceholder]] }],
    ["a header's name", { headers: [[kPlaceholder, "a"]] }],
    ["lower case", { headers: [["a", kPlaceholder.toLowerCase()]] }],
    ["Basic", { headers: [["Authorization", `Basic ${base64(`:${kPlaceholder}`)}`]] }],
    ["base64", { headers: [["a", `x ${base64(kPlaceholder)}`]] }],
    ["the query", { query: `x=${kPlaceholder}` }],
    [
      "percent-coded",
      {
        query: `x=${kPlaceholder.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16)}`)}`,
      },
    ],
    ["coded twice", { query: `x=${kPlaceholder.replaceAll("_", "%255f")}` }],
  ];
  for (const [where, place] of kElsewhere) {
    test.each(kWays)(`at ${where}, by %s`, (_, way) => {
      const request = requestOf([], { ...place, ...way });
      expect(judge(request, [secretOf()])).toMatchObject({ kind: "misused" });
    });
    test(`control: at ${where} without it`, () => {
      expect(judge(requestOf([["a", "b"]], place), [secretOf()])).toEqual({
        kind: "send",
        needs: [],
      });
    });
  }

  test("of one secret where another is for the host", () => {
    const other = {
      ...secretOf({ as: "placeholder" }, ["other.test"]),
      placeholder: placeholderFor(kValue),
    };
    const request = requestOf([
      ["a", kPlaceholder],
      ["b", other.placeholder],
    ]);
    expect(judge(request, [secretOf(), other])).toMatchObject({
      kind: "misused",
      secret: other,
      where: "the header b",
    });
  });
});
