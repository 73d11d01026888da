import { expect, test } from "vitest";

import { loadMcpSdk } from "../../lib/mcp/sdk.js";

test("where the SDK is missing, the line that installs it is told", async () => {
  const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  const failing = () => Promise.reject(missing);
  await expect(loadMcpSdk(failing)).rejects.toMatchObject({
    code: "ERR_SANDBOX_UNAVAILABLE",
    fix: "npm install @modelcontextprotocol/server@2",
    cause: missing,
  });
});

test("where it is there, it is loaded", async () => {
  expect(await loadMcpSdk()).toHaveProperty("McpServer");
});
