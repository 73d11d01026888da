import { describe, expect, it } from "vitest";

import { cachesText, type ExplainContext, policyText } from "../../../lib/cli/explain.js";
import type { CliOptions } from "../../../lib/cli/options.js";
import { kDefaultCliOptions } from "../../support/cli-options.js";

function explained(
  changes: Partial<CliOptions> = {},
  environment = ["HOME", "PATH", "PWD"],
  context: Partial<ExplainContext> = {},
) {
  return policyText(
    {
      cmd: "bwrap",
      args: [],
      layers: ["mount-namespace", "seccomp"],
      environment,
      policyHash: "abc",
    },
    {
      options: { ...kDefaultCliOptions, ...changes },
      runtime: "bubblewrap",
      chosenBy: undefined,
      network: "deny",
      writes: "/srv/w (at /workspace), and a private /tmp",
      reads: "/usr /etc; a private /proc and /dev",
      hostNames: ["API_KEY", "HOME", "PATH"],
      ...context,
    },
  );
}

describe("policyText", () => {
  it("names caches and why others are not shown, where some are asked for", () => {
    const found = {
      caches: [{ name: "npm", source: "/h/.npm", target: "/h/.npm", hidden: [] }],
      leftOut: [{ name: "pip", path: "/h/.cache/pip", why: "it is not there" }],
      variables: {},
      watched: [],
    };
    const text = "npm /h/.npm, copy-on-write; not shown: pip /h/.cache/pip: it is not there";
    expect(cachesText(found)).toBe(text);
    expect(cachesText({ ...found, caches: [], leftOut: [] })).toBe("none, copy-on-write");
    expect(cachesText(undefined)).toBeUndefined();
    expect(explained({}, [], { caches: "npm" })).toContain("Caches          npm\n");
    expect(explained()).not.toContain("Caches");
  });

  it("tells the policy a row a subject", () => {
    expect(explained({ env: [["MODE", "hidden-value"]] }, ["HOME", "PATH", "MODE"])).toBe(
      [
        "Runtime         bubblewrap (default)",
        "Writes          /srv/w (at /workspace), and a private /tmp",
        "Reads           /usr /etc; a private /proc and /dev",
        "Network         none but a private loopback",
        "Environment     the host's, without secrets and loader variables",
        "  passed        HOME PATH",
        "  held back     API_KEY",
        "  set by --env  MODE",
        "Limits          time 1m",
        "Layers          mount-namespace seccomp",
        "Policy hash     abc",
      ].join("\n"),
    );
  });

  it("names what else was chosen", () => {
    const changes: Partial<CliOptions> = {
      envPolicy: ["PATH"],
      timeout: Number.POSITIVE_INFINITY,
      memory: 1024 ** 3,
      maxProcesses: 9,
      maxWrite: 1024 ** 2,
      reserve: 1024 ** 3,
      cpuShare: 7,
      ioShare: 8,
    };
    const context: Partial<ExplainContext> = {
      runtime: "landlock",
      chosenBy: "OPENAGENTIC_RUNTIME_TYPE",
      network: "allow",
    };
    const text = explained(changes, ["PATH"], context);
    expect(text).toMatch(/^Runtime {9}landlock \(OPENAGENTIC_RUNTIME_TYPE\)\n/);
    expect(text).toContain("the host's\n");
    expect(text).toContain("only PATH of the host's");
    expect(text).toContain("9 processes, 1 MiB added to files");
  });

  it("wraps long rows to 100 columns under their text", () => {
    const names = Array.from({ length: 60 }, (_, index) => `VARIABLE_${index}`);
    const lines = explained({ env: names.map((name) => [name, "x"]) }).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.find((line) => line.includes("VARIABLE_59"))).toMatch(/^ {16}VARIABLE_/);
  });
});
