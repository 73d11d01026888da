import { describe, expect, it } from "vitest";

import * as exports from "../lib/index.js";

describe("the package", () => {
  it("exports these values and no others", () => {
    expect(Object.keys(exports).sort()).toEqual([
      "AuditLog",
      "AuditLogError",
      "BubblewrapNativeRunner",
      "Bwrap",
      "FirejailNativeRunner",
      "ForwardError",
      "LandlockNativeRunner",
      "Lease",
      "LocalNativeRunner",
      "RuntimeUnavailableError",
      "SandboxError",
      "SkillError",
      "TransactionError",
      "WaitForPortError",
      "WasmSkillExecutor",
      "applyProcessSandbox",
      "availableRuntimes",
      "buildBubblewrapArgv",
      "buildConfigForSkill",
      "checkShellCommand",
      "createBubblewrapProcessSandbox",
      "createRuntime",
      "forgetAvailability",
      "isNested",
      "loadRuntimeConfig",
      "parseRuntimeConfig",
      "readAuditLog",
      "runSandboxed",
      "sandboxFromEnv",
      "shouldUseOsSandbox",
      "verifyAuditLog",
    ]);
  });
});
