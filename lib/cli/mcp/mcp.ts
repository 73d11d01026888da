/** `native-runner mcp`: the sandbox as tools of an agent. Standard output carries the protocol alone. */

import type { AuditLog } from "../../audit-log/audit-log.js";
import { serveHttp } from "../../mcp/http/serve-http.js";
import { type Serving, servingOf } from "../../mcp/register.js";
import { ToolSandbox } from "../../mcp/sandbox.js";
import { loadMcpSdk } from "../../mcp/sdk.js";
import { serveStdio } from "../../mcp/stdio.js";
import { packageVersion } from "../../package-version.js";
import { recorded } from "../audit/audit-option.js";
import type { CliOptions } from "../options.js";
import { CliError, printError } from "../terminal.js";
import { placeWords } from "../transactions/transaction-place.js";
import { operatorsPolicy } from "./operators-policy.js";
import { tokenOf } from "./token.js";

type OfRunAlone = "stdin" | "json" | "transaction" | "commit" | "discard";

/** As commander hands them over. */
export type McpOptions = Omit<CliOptions, OfRunAlone> & {
  /** A transaction's id, or "latest". */
  resume?: string;
  /** A port, or true for any. */
  http?: string | true;
  tokenFile?: string;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const kLargestOutput = 16 * 1024 ** 2;
const kLargestPort = 65_535;

function portOf(http: string | true): number {
  const port = http === true ? 0 : Number(http);
  if (Number.isInteger(port) && port >= 0 && port <= kLargestPort) return port;
  throw new CliError(`--http ${http} is no port`, 2);
}

/** Ends what runs, and keeps what was changed. */
async function leave(sandbox: ToolSandbox, options: McpOptions): Promise<void> {
  const id = await sandbox.close();
  if (id === undefined) return;
  const place = placeWords(options);
  printError(
    `the changes wait in transaction ${id}: \`native-runner tx show|diff|commit|discard ${id}${place}\`, or --resume ${id}`,
  );
}

/** Resolves when the client has gone; a server of HTTP goes on until it is told to end. */
async function serve(serving: Serving, options: McpOptions, ended: Promise<void>): Promise<void> {
  const version = packageVersion();
  if (options.http === undefined) {
    const client = await serveStdio(serving, version);
    await Promise.race([client.gone, ended]);
    await client.close(); // or standard input would hold the process
    return;
  }
  const token = tokenOf(options.tokenFile);
  const server = await serveHttp(serving, { port: portOf(options.http), token, version });
  const said = options.tokenFile === undefined ? `, with the token ${token}` : "";
  printError(`serves MCP at ${server.url}${said}`);
  await ended;
  await server.close();
}

/**
 * Serves until the client has gone, or a SIGINT, SIGTERM or SIGHUP. The transaction is kept, and told of
 * on standard error; one in which nothing was changed is not.
 */
export async function mcp(options: McpOptions): Promise<void> {
  if (options.maxOutput > kLargestOutput) {
    throw new CliError("with mcp, --max-output is at most 16M", 2);
  }
  const ended = new Promise<void>((resolve) => {
    for (const name of kSignals) process.once(name, () => resolve());
  });
  process.stderr.on("error", () => {}); // whoever started it need not read
  await recorded(options, (auditLog) => serveRecorded(options, ended, auditLog));
}

async function serveRecorded(
  options: McpOptions,
  ended: Promise<void>,
  auditLog: AuditLog | undefined,
): Promise<void> {
  const sdk = await loadMcpSdk();
  const { sandbox: policy, close } = await operatorsPolicy(options, auditLog);
  const sandbox = new ToolSandbox(policy);
  try {
    if (options.resume !== undefined) await sandbox.transaction(); // else when it is wanted
    await serve(servingOf(sdk, sandbox), options, ended);
  } finally {
    await leave(sandbox, options);
    await close();
  }
}
