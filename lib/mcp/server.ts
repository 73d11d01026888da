/** A server of one sandbox's tools. */

import type { McpServer } from "@modelcontextprotocol/server";

import { registerTools, type Serving } from "./register.js";
import { registerResources } from "./resources.js";

const kInstructions =
  "Commands run in a sandbox. What they change waits in a transaction: look at it with `changes` and `diff`, then `commit` it (a person is asked) or `discard` it. `checkpoint` and `rollback` go back within it. What the sandbox refuses is said in the answer, with what would allow it.";

/** @param version the package's. */
export function makeServer(serving: Serving, version: string): McpServer {
  const server = new serving.sdk.McpServer(
    { name: "native-runner", title: "native-runner", version },
    { instructions: kInstructions },
  );
  registerTools(server, serving);
  registerResources(server, serving.sandbox.outputs, serving.sdk);
  return server;
}
