/** MCP on standard input and output. */

import { Console } from "node:console";

import type { Serving } from "./register.js";
import { makeServer } from "./server.js";
import { StdioTransport } from "./stdio-transport.js";

/** One client, until it is gone. */
export type StdioServing = {
  /** Resolves at the end of standard input, or of a standard output that nobody reads. */
  gone: Promise<void>;
  /** Hears no more; calls that go on are aborted. */
  close(): Promise<void>;
};

/** Serves one client, of either protocol generation. */
export async function serveStdio(serving: Serving, version: string): Promise<StdioServing> {
  // What some library prints is for people: standard output is the protocol's.
  globalThis.console = new Console(process.stderr);
  const { serveStdio: serve } = await import("@modelcontextprotocol/server/stdio");
  const transport = new StdioTransport(process.stdin, process.stdout, serving.sdk);
  const { close } = serve(() => makeServer(serving, version), { transport, onerror: () => {} });
  const { onclose } = transport; // the SDK's
  const gone = new Promise<void>((resolve) => {
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  return { gone, close };
}
