import { describe, expect, it } from "vitest";
import { ConfiguredRuntime } from "../../lib/runtime/configured-runtime.js";
import { createRuntime } from "../../lib/runtime/create.js";
import { readRuntimeEnvironment, withEnvironment } from "../../lib/runtime/environment.js";
import { kKinds } from "../../lib/runtime/kinds.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";

const kHosts = "OPENAGENTIC_SANDBOX_ALLOW_HOSTS";
const rules = { allow: ["a.test"], deny: ["b.a.test"], allowPrivate: ["10.0.0.0/8"] };

describe("a configuration's network", () => {
  it.each([
    "allow",
    "deny",
    rules,
    { allow: [] },
    { presets: ["npm"] },
    { onRequest: () => "deny" },
  ])("may be %j, in either place", (network) => {
    expect(parseRuntimeConfig({ network }).network).toEqual(network);
    expect(parseRuntimeConfig({ bubblewrap: { network } }).bubblewrap.network).toEqual(network);
  });

  it("may be written in snake_case", () => {
    const written = { allow: ["a.test"], allow_private: ["a.test"] };
    expect(parseRuntimeConfig({ network: written }).network).toEqual({
      allow: ["a.test"],
      allowPrivate: ["a.test"],
    });
  });

  it.each([
    ["Allow", 'Expected `network` to be one of allow, deny, got "Allow"; did you mean `allow`?'],
    [7, "Expected `network` to be one of allow, deny, got 7"],
    [["a.test"], "Expected `network` to be an object"],
    [{}, 'Expected `network` to be an object with `allow` (or "allow" or "deny"), got {}'],
    [{ deny: ["a"] }, "Expected `network` to be an object with `allow`"],
    [{ alow: ["a"] }, "Unknown setting `network.alow`; did you mean `allow`?"],
    [{ allow: "a" }, 'Expected `network.allow` to be an array of strings, got "a"'],
    [{ allow: [7] }, "Expected `network.allow.0` to be a string, got 7"],
    [
      { allow: [], presets: ["nmp"] },
      "Expected `network.presets.0` to be one of npm, pypi, github, debian, crates, go",
    ],
    [{ allow: [], onRequest: "deny" }, 'Expected `network.onRequest` to be a function, got "deny"'],
  ])("%j is refused", (network, message) => {
    expect(() => parseRuntimeConfig({ network })).toThrow(message);
    expect(() => parseRuntimeConfig({ bubblewrap: { network } })).toThrow(
      message.replaceAll("`network", "`bubblewrap.network"),
    );
  });
});

describe(kHosts, () => {
  const limited = (configured: object, value = "c.test, *.d.test:8443") =>
    withEnvironment(parseRuntimeConfig(configured), readRuntimeEnvironment({ [kHosts]: value }));
  const allow = ["c.test", "*.d.test:8443"];

  it("is all that may be reached, whatever is configured", () => {
    for (const network of ["allow", "deny"]) {
      expect(limited({ network }).network).toEqual({ allow });
      expect(limited({ bubblewrap: { network } }).bubblewrap.network).toEqual({ allow });
    }
    expect(limited({}).bubblewrap.network).toBeUndefined();
  });

  it("leaves what is denied, and asks nobody", () => {
    const network = { ...rules, presets: ["npm"], onRequest: () => "allow" };
    const { deny, allowPrivate } = rules;
    expect(limited({ network }).network).toEqual({ allow, deny, allowPrivate });
  });

  it("is not set when it is empty", () => {
    expect(limited({ network: rules }, "").network).toEqual(rules);
  });

  it.each([
    ",",
    "a.test,b test",
    "https://a.test",
    "a.test/x",
    "me@a.test",
    "[::1]",
    "a.test:https",
    "*",
  ])("%j is no list of hosts", (value) => {
    expect(() => readRuntimeEnvironment({ [kHosts]: value })).toThrow(`${kHosts}=${value} is not`);
  });

  it.each(["OPENAGENTIC_SANDBOX_NETWORK", "OPENAGENTIC_BWRAP_NETWORK"])(
    "contradicts %s",
    (variable) => {
      for (const mode of ["allow", "deny"]) {
        const variables = { [kHosts]: "a.test", [variable]: mode };
        expect(() => readRuntimeEnvironment(variables)).toThrow(
          `${kHosts} and ${variable}=${mode} contradict each other`,
        );
      }
    },
  );
});

describe("a runtime that can't keep rules", () => {
  const config = parseRuntimeConfig({ network: rules });

  it.each(["landlock", "firejail", "native"] as const)("%s refuses them", async (name) => {
    const runtime = new ConfiguredRuntime(kKinds[name], config);
    const reason = `${kKinds[name].title} can't have a network by domain`;
    expect(await runtime.isAvailable()).toMatchObject({ available: false, reason });
    expect(() => runtime.runner({ shadowDir: "/w" })).toThrow(reason);
    await expect(runtime.execute("true", { workdir: "/" })).rejects.toThrow(reason);
    const other = new ConfiguredRuntime(kKinds[name], parseRuntimeConfig({}));
    expect(() => other.runner({ shadowDir: "/w" })).not.toThrow();
  });

  it("is no fallback either", async () => {
    const input = {
      runtimeType: "bubblewrap",
      network: rules,
      bubblewrap: { bwrapPath: "/nonexistent/bwrap" },
      allowFallbackToNative: true,
    } as const;
    await expect(createRuntime(input, { environment: {} })).rejects.toMatchObject({
      steps: [
        { name: "bubblewrap", available: false },
        { name: "native", available: false, reason: "Native can't have a network by domain" },
      ],
    });
  });

  it("is one also where the rules are Bubblewrap's alone and nothing would confine", () => {
    const alone = parseRuntimeConfig({ bubblewrap: { network: rules } });
    const make = (name: "landlock" | "native") =>
      new ConfiguredRuntime(kKinds[name], alone).runner({ shadowDir: "/w" });
    expect(() => make("native")).toThrow("can't have a network by domain");
    expect(() => make("landlock")).not.toThrow(); // whose network is denied
  });
});
