/**
 * `native-runner mcp`: provides the sandbox as tools for an agent. Standard output carries only the protocol.
 */

import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

import type { Denial } from "../../types/denials.js";
import type { NetworkRequest } from "../../types/network.js";
import type { Transaction } from "../../types/transaction.js";
import type { AuditLog } from "../audit-log/audit-log.js";
import { serveHttp } from "../mcp/http.js";
import { type HostQuestions, type SandboxPolicy, ToolSandbox } from "../mcp/sandbox.js";
import { loadOwnMcpSdk, type McpStdio } from "../mcp/sdk.js";
import { type Serving, servingOf } from "../mcp/server.js";
import type { Commands } from "../mcp/shared-session.js";
import { serveStdio } from "../mcp/stdio.js";
import { packageVersion } from "../package-version.js";
import { SandboxReview } from "../review/sandbox-review.js";
import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import type { RuntimeRunner } from "../runtime/runtime.js";
import { checkLine, checkMounts, checkWorkspace } from "./checks.js";
import { chooseRunner } from "./choose-runner.js";
import { aboutRunner } from "./mcp-about.js";
import { kLatest, limits, type McpOptions, recorded, recordGrants, withGrants } from "./options.js";
import { CliError, printError } from "./terminal.js";
import {
  directoryOption,
  findTransaction,
  type PlaceOptions,
  placeWords,
} from "./transactions/transaction-place.js";

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const kLargestOutput = 16 * 1024 ** 2;
const kLargestPort = 65_535;

function portOf(http: string | true): number {
  const port = http === true ? 0 : Number(http);
  if (Number.isInteger(port) && port >= 0 && port <= kLargestPort) return port;
  throw new CliError(`--http ${http} is no port`, 2);
}

/** Ends running commands, and keeps the changes. */
async function leave(sandbox: ToolSandbox, options: McpOptions): Promise<void> {
  const id = await sandbox.close();
  if (id === undefined) return;
  const place = placeWords(options);
  printError(
    `the changes wait in transaction ${id}: \`native-runner tx show|diff|commit|discard ${id}${place}\`, or --resume ${id}`,
  );
}

/** Resolves when the client has disconnected; an HTTP server continues until it is asked to end. */
async function serve(
  serving: Serving,
  stdio: McpStdio,
  options: McpOptions,
  ended: Promise<void>,
): Promise<void> {
  const version = packageVersion();
  if (options.http === undefined) {
    const client = await serveStdio(serving, stdio, version);
    await Promise.race([client.gone, ended]);
    await client.close(); // otherwise standard input would keep the process alive
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
 * Serves until the client has disconnected, or a SIGINT, SIGTERM or SIGHUP. A transaction with changes is
 * kept, and reported on standard error; one without changes is discarded.
 */
export async function mcp(options: McpOptions): Promise<void> {
  if (options.maxOutput !== undefined && options.maxOutput > kLargestOutput) {
    throw new CliError("with mcp, --max-output is at most 16M", 2);
  }
  const ended = new Promise<void>((resolve) => {
    for (const name of kSignals) process.once(name, () => resolve());
  });
  process.stderr.on("error", () => {}); // the parent process may not read it
  await recorded(options, (auditLog) => serveRecorded(options, ended, auditLog));
}

async function serveRecorded(
  options: McpOptions,
  ended: Promise<void>,
  auditLog: AuditLog | undefined,
): Promise<void> {
  const sdk = await loadOwnMcpSdk();
  const { sandbox: policy, close } = await operatorsPolicy(options, auditLog);
  const sandbox = new ToolSandbox(policy);
  try {
    const isWanted = options.resume !== undefined || options.review !== undefined;
    if (isWanted) await sandbox.transaction(); // otherwise on first use
    await serve(servingOf(sdk, sandbox), sdk, options, ended);
  } finally {
    await leave(sandbox, options);
    await close();
  }
}

/** The policy that the command line of `native-runner mcp` sets for a model. */

/** The policy, and a function that ends the runners behind it. */
export type OperatorsPolicy = { sandbox: SandboxPolicy; close(): Promise<void> };

/**
 * @param auditLog records all runs; undefined: none.
 * @throws (rejects) like `run` with the same options.
 */
async function operatorsPolicy(
  options: McpOptions,
  auditLog: AuditLog | undefined,
): Promise<OperatorsPolicy> {
  const own = { ...options, stdin: false };
  const workspace = checkWorkspace(own);
  checkMounts(own);
  let hosts: HostQuestions | undefined;
  const onRequest = async (request: NetworkRequest) => {
    if (hosts === undefined) throw new Error("nobody can be asked yet");
    return hosts.decide(request);
  };
  const { runner: chosen, policy } = await chooseRunner(own, process.env, {
    onRequest,
    auditLog,
    tellsDenials: true,
  });
  const runner = expectTransactions(chosen);
  let isFirst = true;
  let granted = own;
  const sandbox: SandboxPolicy = {
    workspace,
    about: aboutRunner(runner),
    limits: limits(own),
    cwd: own.cwd,
    env: Object.fromEntries(own.env ?? []),
    allowProtected: own.allowProtected,
    place: placeWords(options),
    review: reviewOf(options, runner, workspace),
    open: async () => {
      const { resume, ...place } = options;
      const transaction = await openTransaction(runner, workspace, isFirst ? options : place);
      isFirst = false;
      return transaction;
    },
    useHosts: (asked) => {
      hosts = asked;
    },
    check: (line) => {
      checkLine(line, policy.config.security);
    },
    grant: async (transaction, denials: readonly Denial[]): Promise<Commands> => {
      const wider = withGrants(granted, denials);
      checkMounts(wider);
      const made = await chooseRunner(wider, process.env, {
        transaction,
        onRequest,
        auditLog,
        tellsDenials: true,
      });
      granted = wider;
      recordGrants(auditLog, denials, { approvedBy: "the person at the client", scope: "session" });
      return expectTransactions(made.runner);
    },
  };
  return { sandbox, close: () => runner.close() };
}

/** Returns the review page that the options ask for; its address is told to the operator, and not to the client. */
function reviewOf(
  { review }: McpOptions,
  runner: BubblewrapNativeRunner,
  workspace: string,
): SandboxReview | undefined {
  if (review === undefined) return undefined;
  return new SandboxReview({
    runner,
    port: review === true ? 0 : review,
    workspace,
    approvedBy: "a person, on the review page",
    onServed: (url) => printError(`a person can review the changes at ${url}`),
  });
}

type ResumeOptions = PlaceOptions & { resume?: string };

/** Returns the runner as one that supports transactions. @throws CliError */
function expectTransactions(runner: RuntimeRunner): BubblewrapNativeRunner {
  if (runner instanceof BubblewrapNativeRunner) return runner;
  throw new CliError("mcp needs Bubblewrap, for its transactions", 2, "name --runtime bubblewrap");
}

async function idToResume(
  runner: BubblewrapNativeRunner,
  workspace: string,
  options: ResumeOptions,
): Promise<string | undefined> {
  const { resume } = options;
  if (resume === undefined) return undefined;
  if (resume !== kLatest) return (await findTransaction(resume, options)).id;
  const waiting = (await runner.transactions(directoryOption(options))).filter(
    (listed) => listed.workspace === workspace && listed.state === "closed",
  );
  return waiting.at(-1)?.id; // oldest first
}

/**
 * Resumes the transaction that `--resume` names, or opens a new one.
 * @throws (rejects) like `openTransaction` and `resumeTransaction`.
 */
async function openTransaction(
  runner: BubblewrapNativeRunner,
  workspace: string,
  options: ResumeOptions,
): Promise<Transaction> {
  const id = await idToResume(runner, workspace, options);
  if (id === undefined) return runner.openTransaction(directoryOption(options));
  const transaction = await runner.resumeTransaction(id, directoryOption(options));
  printError(`goes on in transaction ${id}`);
  return transaction;
}

const kLeast = 16;
const kOthers = 0o077;

/** Returns the token in a file, which no other user may read, or a new one. @throws CliError */
function tokenOf(file: string | undefined): string {
  if (file === undefined) return randomBytes(32).toString("base64url");
  let text: string;
  try {
    const { mode } = statSync(file);
    if ((mode & kOthers) !== 0) {
      throw new CliError(`--token-file ${file} can be read by others`, 2, `chmod 600 ${file}`);
    }
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`--token-file ${file} can't be read: ${(error as Error).message}`, 2);
  }
  if (text.length >= kLeast && /^[\x21-\x7e]+$/.test(text)) return text;
  throw new CliError(
    `--token-file ${file} has no token: ${kLeast} or more visible ASCII characters`,
    2,
    `head -c 32 /dev/urandom | base64 | tr -d = > ${file}`,
  );
}
