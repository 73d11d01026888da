import { describe, expect, it } from "vitest";

import { type CliOptions, execInput } from "../../lib/cli/options.js";
import { kDefaultCliOptions } from "../support/cli-options.js";

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

  it("hands on the bounds and the shares", () => {
    const options = { ...kDefaultCliOptions, maxWrite: 1, reserve: 2, cpuShare: 3, ioShare: 4 };
    expect(execInput(["ls"], options).limits).toMatchObject({
      writeBytes: 1,
      reserveBytes: 2,
      cpuShare: 3,
      ioShare: 4,
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
