import { describe, expect, it } from "vitest";

import * as exports from "../lib/index.js";

describe("the package", () => {
  it("exports these values and no others", () => {
    expect(Object.keys(exports).sort()).toEqual([
      "BubblewrapNativeRunner",
      "FirejailNativeRunner",
      "LandlockNativeRunner",
      "LocalNativeRunner",
      "RuntimeUnavailableError",
      "SandboxError",
      "SkillError",
      "WasmSkillExecutor",
      "availableRuntimes",
      "buildBubblewrapArgv",
      "buildConfigForSkill",
      "checkShellCommand",
      "createRuntime",
      "forgetAvailability",
      "loadRuntimeConfig",
      "parseRuntimeConfig",
      "runSandboxed",
      "shouldUseOsSandbox",
    ]);
  });
});
