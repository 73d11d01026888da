/** MCP on standard input and output. */

import { Console } from "node:console";

import type { Serving } from "./register.js";
import { makeServer } from "./server.js";

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
  const stdio = await import("@modelcontextprotocol/server/stdio");
  for (const event of ["end", "close", "error"] as const) process.stdin.once(event, gone);
  process.stdout.once("error", gone);
  stdio.serveStdio(() => makeServer(serving, version), { onerror: () => {} });
}
