/** `@openagentic/native-runner/mcp`: the sandbox's tools in an MCP server of one's own. */

import type { McpServer } from "@modelcontextprotocol/server";

import { loadMcpSdk, registerResources, registerTools, servingOf } from "../mcp/server.js";
import { type SandboxToolsOptions, toolSandboxOf } from "./tool-sandbox.js";

export type { SandboxToolsOptions } from "./tool-sandbox.js";

/** Tools that servers have. */
export type MountedSandbox = {
  /** Adds the tools to one more server: the SDK makes one for each connection, or request. */
  addTo(server: McpServer): void;
  /** Ends what runs, and keeps the transaction; resolves with its id where there are changes in it. */
  close(): Promise<string | undefined>;
};

/** Options of {@link createSandboxTools}. */
export type McpSandboxOptions = SandboxToolsOptions & {
  /** Milliseconds between two signs of life in a call that wants progress. Default 10 000. */
  heartbeatMs?: number | undefined;
};

/**
 * The ten tools of `native-runner mcp`, and the resources that they link to, for servers of one's own. A
 * commit is put before a person by elicitation, and refused where the client has none.
 *
 * @throws (rejects) SandboxError ERR_SANDBOX_UNAVAILABLE where the SDK is missing; TypeError on a wrong option.
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
      registerResources(server, sandbox.outputs, serving.sdk);
    },
    close: () => sandbox.close(),
  };
}
