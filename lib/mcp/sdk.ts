/** The SDK that speaks the protocol: an optional peer, loaded by what serves MCP alone. */

import type * as Server from "@modelcontextprotocol/server";

import { SandboxError } from "../errors.js";

/** What there is of it. */
export type McpSdk = typeof Server;

/** @throws (rejects) SandboxError ERR_SANDBOX_UNAVAILABLE, with the line that installs it. */
export async function loadMcpSdk(
  load: () => Promise<McpSdk> = () => import("@modelcontextprotocol/server"),
): Promise<McpSdk> {
  try {
    return await load();
  } catch (cause) {
    throw new SandboxError(
      "MCP needs the package @modelcontextprotocol/server, which can't be loaded",
      {
        code: "ERR_SANDBOX_UNAVAILABLE",
        fix: "npm install @modelcontextprotocol/server@2",
        cause,
      },
    );
  }
}
