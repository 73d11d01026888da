/** `@openagentic/native-runner/mcp`: the sandbox's tools in an application's own MCP server. */

import type { McpServer } from "@modelcontextprotocol/server";

import { loadMcpSdk } from "../mcp/sdk.js";
import { registerResources, registerTools, servingOf } from "../mcp/server.js";
import { type SandboxToolsOptions, toolSandboxOf } from "./tool-sandbox.js";

export type { SandboxToolsOptions, ToolReviewOptions } from "./tool-sandbox.js";

/** Tools to add to servers. */
export type MountedSandbox = {
  /** Adds the tools to one more server: the SDK makes one for each connection, or request. */
  addTo(server: McpServer): void;
  /** Ends all commands and keeps the transaction; resolves with its id if it has changes. */
  close(): Promise<string | undefined>;
};

/** Options of {@link createSandboxTools}. */
export type McpSandboxOptions = SandboxToolsOptions & {
  /** Milliseconds between two signs of life in a call that requests progress. Default 10 000. */
  heartbeatMs?: number | undefined;
};

/**
 * Returns the sixteen tools of `native-runner mcp`, with the resources that they link to, for an application's own servers.
 * A commit asks a person through elicitation, and is refused if the client does not support it.
 *
 * @throws (rejects) SandboxError ERR_SANDBOX_UNAVAILABLE if the SDK is missing; TypeError on a wrong option
 * @example
 * const sandbox = await createSandboxTools({ runner });
 * const server = new McpServer({ name: "mine", version: "1.0.0" });
 * sandbox.addTo(server);
 */
export async function createSandboxTools({
  heartbeatMs,
  ...options
}: McpSandboxOptions): Promise<MountedSandbox> {
  const sandbox = toolSandboxOf(options);
  const serving = servingOf(await loadMcpSdk(), sandbox, heartbeatMs);
  return {
    addTo: (server) => {
      registerTools(server, serving);
      registerResources(server, serving);
    },
    close: () => sandbox.close(),
  };
}
