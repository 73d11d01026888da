/** Hosts and paths of secrets and rules, compared as servers read them. */

import { describe, expect, test } from "vitest";

import { covers, normalisedPath, readTarget } from "../../lib/secrets/target.js";

const at = (host: string, path: string, port = 443) => ({
  host,
  port,
  path: normalisedPath(path) ?? [],
});

describe("a path", () => {
  test.each([
    ["/", []],
    ["/a/b", ["a", "b"]],
    ["//a///b/", ["a", "b"]],
    ["/a/./b/../c", ["a", "c"]],
    ["/a%2e%2e/b", ["a..", "b"]],
    ["/a/%2e%2e/b", ["b"]],
    ["/%61/b?x=/../..", ["a", "b"]],
    ["/a#b", ["a"]],
    ["/%C3%A4", ["ä"]],
  ])("%s", (path, segments) => {
    expect(normalisedPath(path)).toEqual(segments);
  });

  test.each([
    "",
    "a",
    "/..",
    "/a/../..",
    "/a%2fb",
    "/a%2Fb",
    "/a%5cb",
    "/a\\b",
    "/%00",
    "/%",
    "/%zz",
    "/%252e",
    "/%ff",
  ])("%s is none that all servers read alike", (path) => {
    expect(normalisedPath(path)).toBeUndefined();
  });
});

describe("a target", () => {
  test.each([
    ["api.test", "api.test", "/x", 443, true],
    ["API.test", "api.TEST", "/", 443, true],
    ["api.test", "api.test", "/", 8443, false],
    ["api.test:8443", "api.test", "/", 8443, true],
    ["api.test", "xapi.test", "/", 443, false],
    ["api.test", "api.test.evil.test", "/", 443, false],
    ["*.api.test", "a.b.api.test", "/", 443, true],
    ["*.api.test", "api.test", "/", 443, false],
    ["api.test/v1/*", "api.test", "/v1/a/b", 443, true],
    ["api.test/v1/*", "api.test", "/v1", 443, true],
    ["api.test/v1/*", "api.test", "/v1/../v2", 443, false],
    ["api.test/v1/*", "api.test", "/v10", 443, false],
    ["api.test/v1/*", "api.test", "/V1/a", 443, false],
    ["api.test/v1", "api.test", "/v1/", 443, true],
    ["api.test/v1", "api.test", "/v1/a", 443, false],
    ["localhost:8443/a b", "localhost", "/a%20b", 8443, true],
  ])("%s covers %s%s at %i: %s", (text, host, path, port, is) => {
    expect(covers(readTarget(text, "hosts[0]"), at(host, path, port))).toBe(is);
  });

  test.each([
    "",
    "*",
    "*.com",
    "10.0.0.1",
    "a b",
    "api.test:0",
    "api.test:99999",
    "https://api.test",
    "-a.test",
    "a..test",
  ])("%j is refused", (text) => {
    expect(() => readTarget(text, "secrets[0].hosts[1]")).toThrow(
      /^Expected `secrets\[0\]\.hosts\[1\]` to /,
    );
  });

  test.each(["api.test/a/*/b", "api.test/..", "api.test/a%2fb"])(
    "%j has no path that can be compared",
    (text) => {
      expect(() => readTarget(text, "hosts[0]")).toThrow(/a path, whose last segment may be "\*"/);
    },
  );
});
