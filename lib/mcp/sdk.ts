/** Loads the MCP SDK: for applications their own, an optional peer; for the command line the package's copy. */

import { existsSync } from "node:fs";
import type * as Server from "@modelcontextprotocol/server";
import type * as Stdio from "@modelcontextprotocol/server/stdio";

import { SandboxError } from "../errors.js";
import { builtFile } from "../package-root.js";

/** The SDK's package. */
export type McpSdk = typeof Server;

/** Its part for standard input and output. */
export type McpStdio = Pick<typeof Stdio, "serveStdio">;

/** @throws (rejects) SandboxError ERR_SANDBOX_UNAVAILABLE, with the command that installs it */
export async function loadMcpSdk<Sdk extends McpSdk = McpSdk>(
  load: () => Promise<Sdk> = () => import("@modelcontextprotocol/server") as Promise<Sdk>,
): Promise<Sdk> {
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

/**
 * Returns the copy in this package, for a server that nothing else is installed for; without one, the peer.
 * @throws (rejects) like {@link loadMcpSdk}
 */
export function loadOwnMcpSdk(): Promise<McpSdk & McpStdio> {
  return loadMcpSdk(async () => {
    const copy = builtFile("mcp/sdk-copy.js"); // by scripts/build-bundles.mjs
    if (existsSync(copy)) return (await import(copy.href)) as McpSdk & McpStdio;
    const [sdk, stdio] = await Promise.all([
      import("@modelcontextprotocol/server"),
      import("@modelcontextprotocol/server/stdio"),
    ]);
    return { ...sdk, serveStdio: stdio.serveStdio };
  });
}
