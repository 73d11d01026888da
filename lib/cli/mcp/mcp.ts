/** `native-runner mcp`: the sandbox as tools of an agent. Standard output carries the protocol alone. */

import { servingOf } from "../../mcp/register.js";
import { ToolSandbox } from "../../mcp/sandbox.js";
import { loadMcpSdk } from "../../mcp/sdk.js";
import { serveStdio } from "../../mcp/stdio.js";
import type { CliOptions } from "../options.js";
import { printError } from "../terminal.js";
import { placeWords } from "../transactions/transaction-place.js";
import { packageVersion } from "../version.js";
import { operatorsPolicy } from "./operators-policy.js";

/** As commander hands them over. */
export type McpOptions = Omit<
  CliOptions,
  "stdin" | "json" | "transaction" | "commit" | "discard"
> & {
  resume?: string;
  /** A port, or true for any. */
  http?: string | true;
  tokenFile?: string;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ends what runs, and keeps what was changed. */
async function leave(sandbox: ToolSandbox, options: McpOptions): Promise<void> {
  const id = await sandbox.close();
  if (id === undefined) return;
  const place = placeWords(options);
  printError(
    `the changes wait in transaction ${id}: \`native-runner tx show|diff|commit|discard ${id}${place}\`, or --resume ${id}`,
  );
}

export async function mcp(options: McpOptions): Promise<void> {
  const sdk = await loadMcpSdk();
  const policy = await operatorsPolicy(options);
  const sandbox = new ToolSandbox(policy.sandbox);
  const serving = servingOf(sdk, sandbox);
  const gone = new Promise<void>((resolve) => {
    for (const name of kSignals) process.once(name, () => resolve());
    void serveStdio(serving, packageVersion(), resolve);
  });
  try {
    await gone;
  } finally {
    await leave(sandbox, options);
    await policy.close();
  }
}
