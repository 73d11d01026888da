/** MCP on standard input and output. */

import { Console } from "node:console";

import type { Serving } from "./register.js";
import { makeServer } from "./server.js";
import { StdioTransport } from "./stdio-transport.js";

/**
 * Serves one client, of either protocol generation, until it is gone: the end of standard input, or a
 * standard output that nobody reads.
 * @param gone called once.
 */
export async function serveStdio(
  serving: Serving,
  version: string,
  gone: () => void,
): Promise<void> {
  // What some library prints is for people: standard output is the protocol's.
  globalThis.console = new Console(process.stderr);
  const { serveStdio: serve } = await import("@modelcontextprotocol/server/stdio");
  const transport = new StdioTransport(process.stdin, process.stdout, serving.sdk);
  serve(() => makeServer(serving, version), { transport, onerror: () => {} });
  const { onclose } = transport; // the SDK's
  transport.onclose = () => {
    onclose?.();
    gone();
  };
}
