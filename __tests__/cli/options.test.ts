import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

import { type CliOptions, execInput, runnerOptions } from "../../lib/cli/options.js";
import { kDefaultCliOptions } from "../support/cli-options.js";

const binds = (changes: Partial<CliOptions>) =>
  runnerOptions({ ...kDefaultCliOptions, ...changes }).roBinds;

describe("runnerOptions", () => {
  it("takes paths from the current directory", () => {
    const options = { ...kDefaultCliOptions, workspace: "a/../b", roBind: ["lib"] };
    expect(runnerOptions(options).shadowDir).toBe(resolve("b"));
    expect(runnerOptions(options).roBinds).toContain(resolve("lib"));
  });

  it("names no mounts when none is asked for, so that missing defaults are skipped", () => {
    expect(binds({})).toBeUndefined();
  });

  it("adds --ro-bind to the defaults that this host has, once each", () => {
    const present = ["/usr", "/bin", "/lib", "/lib64", "/etc"].filter((path) => existsSync(path));
    expect(binds({ roBind: ["/opt/x", "/usr", "/opt/x"] })).toEqual([...present, "/opt/x"]);
  });

  it("leaves the defaults out on demand", () => {
    expect(binds({ defaultRoBinds: false })).toEqual([]);
    expect(binds({ defaultRoBinds: false, roBind: ["/usr"] })).toEqual(["/usr"]);
  });
});

describe("execInput", () => {
  it("gives both streams the one limit, and CPU time in whole seconds", () => {
    const options = { ...kDefaultCliOptions, maxOutput: 7, cpu: 1500, timeout: 9, memory: 5 };
    expect(execInput(["ls"], options)).toMatchObject({
      argv: ["ls"],
      limits: {
        timeoutMs: 9,
        maxStdoutBytes: 7,
        maxStderrBytes: 7,
        cpuSeconds: 2,
        memoryBytes: 5,
        maxProcesses: undefined,
      },
    });
  });

  it("lets the last of a variable win, whatever its name", () => {
    const env: CliOptions["env"] = [
      ["A", "1"],
      ["__proto__", "x"],
      ["A", "2"],
    ];
    const input = execInput(["ls"], { ...kDefaultCliOptions, env });
    expect(Object.entries(input.env ?? {})).toEqual([
      ["A", "2"],
      ["__proto__", "x"],
    ]);
  });
});
