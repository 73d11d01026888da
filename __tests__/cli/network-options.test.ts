import { describe, expect, it } from "vitest";
import {
  networkOf,
  type PolicyOptions,
  resolvePolicy,
  rulesInWords,
} from "../../lib/cli/policy.js";
import { denialLine } from "../../lib/cli/run.js";
import { host, hostPort, preset } from "../../lib/cli/values.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";
import type { NetworkConnection } from "../../types/public.js";

const kHosts = "OPENAGENTIC_SANDBOX_ALLOW_HOSTS";

type Case = { options?: PolicyOptions; file?: object; variables?: Record<string, string> };

function network({ options = {}, file, variables = {} }: Case) {
  const parsed = file === undefined ? undefined : parseRuntimeConfig(file);
  return networkOf(resolvePolicy({ options, file: parsed, variables }).config, "bubblewrap");
}

describe("--allow-host and --allow-preset", () => {
  const options: PolicyOptions = { allowHost: ["a.test", "b.test:22"], allowPreset: ["go"] };
  const said = { allow: ["a.test", "b.test:22"], presets: ["go"] };

  it("are rules in place of a mode", () => {
    expect(network({ options })).toEqual(said);
    for (const mode of ["allow", "deny"]) {
      expect(network({ options, file: { network: mode } })).toEqual(said);
      expect(network({ options, file: { bubblewrap: { network: mode } } })).toEqual(said);
    }
    expect(network({ options: { allowHost: ["a.test"] } })).toEqual({
      allow: ["a.test"],
      presets: [],
    });
    expect(network({ options: { allowPreset: ["npm"] } })).toEqual({ allow: [], presets: ["npm"] });
    expect(network({ options: { hostPort: ["5432"] } })).toEqual({
      allow: [],
      presets: [],
      hostPorts: ["5432"],
    });
  });

  it("add ports of the host to those of a file", () => {
    const file = { network: { hostPorts: [6379] } };
    expect(network({ file })).toEqual({ hostPorts: [6379] });
    expect(network({ options: { hostPort: ["5432"] }, file })).toMatchObject({
      hostPorts: [6379, "5432"],
    });
    expect(network({ options, file })).toMatchObject({ ...said, hostPorts: [6379] });
  });

  it("are added to the rules of a file", () => {
    const rules = { allow: ["c.test"], deny: ["d.test"], presets: ["npm"] };
    const both = { allow: ["c.test", ...said.allow], deny: ["d.test"], presets: ["npm", "go"] };
    expect(network({ options, file: { network: rules } })).toEqual(both);
    expect(network({ options, file: { bubblewrap: { network: rules } } })).toEqual(both);
    expect(network({ options: { network: "deny" }, file: { network: rules } })).toBe("deny");
  });

  it.each<[PolicyOptions, string]>([
    [{ allowHost: ["a.test", "c.test"] }, "--allow-host c.test"],
    [{ allowPreset: ["npm"] }, "--allow-preset npm"],
    [{ hostPort: ["5432"] }, "--host-port 5432"],
    [{ network: "allow" }, "--network allow"],
  ])("%j is not more than the operator's hosts", (opened, what) => {
    const variables = { [kHosts]: "a.test,b.test" };
    expect(() => network({ options: opened, variables })).toThrow(
      `${what}, but the operator set ${kHosts}`,
    );
    expect(network({ options: opened })).not.toBe("deny");
  });

  it("may name what the operator's list has, or nothing", () => {
    const variables = { [kHosts]: "a.test,b.test" };
    const allow = ["a.test", "b.test"];
    expect(network({ variables })).toEqual({ allow });
    const file = { network: { allow: ["c.test"], hostPorts: [5432] } };
    expect(network({ variables, file })).toEqual({ allow });
    expect(network({ options: { allowHost: ["a.test"] }, variables })).toMatchObject({
      allow: [...allow, "a.test"],
    });
    expect(network({ options: { network: "deny" }, variables })).toBe("deny");
  });

  it.each<[PolicyOptions, string]>([
    [{ allowHost: ["a.test"] }, "--allow-host"],
    [{ allowPreset: ["npm"] }, "--allow-preset"],
    [{ hostPort: ["5432"] }, "--host-port"],
  ])("%j is allowed by nobody whose operator denies the network", (opened, option) => {
    for (const variable of ["OPENAGENTIC_SANDBOX_NETWORK", "OPENAGENTIC_BWRAP_NETWORK"]) {
      expect(() => network({ options: opened, variables: { [variable]: "deny" } })).toThrow(
        `${option}, but the operator set ${variable}=deny`,
      );
    }
  });

  it.each(["landlock", "firejail", "native"] as const)("mean nothing to %s", (runtime) => {
    expect(() => network({ options: { runtime, allowHost: ["a.test"] } })).toThrow(
      `--allow-host means nothing to --runtime ${runtime}`,
    );
    expect(() => network({ options: { runtime, allowPreset: ["go"] } })).toThrow("--allow-preset");
    expect(() => network({ options: { runtime, hostPort: ["80"] } })).toThrow("--host-port");
    expect(() => network({ options: { runtime } })).not.toThrow();
    expect(() => network({ options: { runtime: "auto", allowHost: ["a.test"] } })).not.toThrow();
  });

  it("take what could be a host, and a preset that there is", () => {
    expect(host("a.test:8443", ["b.test"])).toEqual(["b.test", "a.test:8443"]);
    expect(host("*.bücher.test")).toEqual(["*.bücher.test"]);
    expect(preset("npm", ["go"])).toEqual(["go", "npm"]);
    for (const text of ["", "https://a.test", "a b", "a/b", "*"]) {
      expect(() => host(text)).toThrow("Expected a host such as a.test");
    }
    expect(hostPort("5432", ["[::1]:80"])).toEqual(["[::1]:80", "5432"]);
    for (const text of ["", "0", "65536", "localhost:5432", "0.0.0.0:5432", "53", "[::1]:3128"]) {
      expect(() => hostPort(text)).toThrow("Expected a port of the host's loopback such as 5432");
    }
    expect(() => preset("nmp")).toThrow("Expected one of npm, pypi");
  });
});

describe("what the network refused", () => {
  const denied = (fields: Partial<NetworkConnection>): NetworkConnection => ({
    host: "evil.test",
    port: 443,
    verdict: "denied",
    reason: "no rule names it",
    via: "transparent",
    bytesOut: 0,
    bytesIn: 0,
    durationMs: 0,
    count: 1,
    ...fields,
  });
  it.each<[Partial<NetworkConnection>, string]>([
    [{}, "evil.test:443 (no rule names it); --allow-host evil.test grants it"],
    [{ port: 0 }, "evil.test (no rule names it); --allow-host evil.test grants it"],
    [
      { host: "a.test", port: 8443, reason: "the port is not allowed" },
      "a.test:8443 (the port is not allowed); --allow-host a.test:8443 grants it",
    ],
    [
      { host: "b.test", rule: "b.test", reason: "a rule denies it" },
      "b.test:443 (a rule denies it)",
    ],
    [{ host: "1.2.3.4", reason: "asked for by address" }, "1.2.3.4:443 (asked for by address)"],
    [
      { host: "c.test", address: "127.0.0.1", reason: "it leads to a private address" },
      "c.test:443 (it leads to a private address)",
    ],
    [{ host: "e\u001b.test", rule: "x" }, "e^[.test:443 (no rule names it)"],
  ])("of %j is a line, with the option that grants it if one does", (fields, line) => {
    expect(denialLine(denied(fields))).toBe(`the network refused ${line}`);
  });
});

describe("rules in words", () => {
  it.each([
    ["deny", "deny"],
    [{ allow: [] }, "by domain: nothing"],
    [
      { hostPorts: [5432, "[::1]:80"] },
      "by domain: nothing; ports of the host's loopback: 5432, [::1]:80",
    ],
    [
      {
        allow: ["a.test"],
        presets: ["npm"],
        deny: ["b.a.test"],
        allowPrivate: ["10.0.0.0/8"],
        onRequest: () => "deny",
      },
      "by domain: a.test, the preset npm; never b.a.test; private addresses of 10.0.0.0/8; somebody is asked about the rest",
    ],
  ] as const)("%j", (rules, words) => {
    expect(rulesInWords(rules as never)).toBe(words);
  });
});
