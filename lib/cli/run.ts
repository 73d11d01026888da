import { subscribe, unsubscribe } from "node:diagnostics_channel";

import type { ConnectionMessage, RequestMessage } from "../../types/metrics.js";
import type {
  HttpRequestRecord,
  NetworkConnection,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import type { AuditLog } from "../audit-log/audit-log.js";
import { kRelay } from "../runners/supervised.js";
import type { RuntimeRunner } from "../runtime/runtime.js";
import { visibleLine } from "../text.js";
import { checkCommand, checkMounts, checkWorkspace } from "./checks.js";
import { chooseRunner } from "./choose-runner.js";
import { type CliOptions, execInput, recorded, spawnInput } from "./options.js";
import {
  closeAfterInterrupt,
  endAfterInterrupt,
  followJobControl,
  followSize,
  openRelay,
  passInput,
  passOutput,
  terminalLikeOurs,
} from "./pass-through.js";
import { endReason, SetupLine, sizesOf, truncations } from "./reason.js";
import { printError, readStdin, watchOutput } from "./terminal.js";
import { settle } from "./transactions/settle.js";
import { openFor } from "./transactions/transaction-place.js";
import type { PublishedPort } from "./values.js";

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `native-runner run`: passes input and output through (or prints the result as JSON), then sets the process's
 * exit code to the result's. The first SIGINT, SIGTERM or SIGHUP aborts the run. With --transaction, its
 * changes are then settled.
 */
export async function run(command: string[], options: CliOptions): Promise<void> {
  const interrupt = new AbortController();
  await recorded(options, (auditLog) => runRecorded(command, options, auditLog, interrupt));
  if (interrupt.signal.aborted) await endAfterInterrupt();
}

async function runRecorded(
  command: string[],
  options: CliOptions,
  auditLog: AuditLog | undefined,
  interrupt: AbortController,
): Promise<void> {
  const { signal } = interrupt;
  let transaction: Transaction | undefined;
  let outputLost = false;
  watchOutput(() => {
    outputLost = true;
    if (options.json) interrupt.abort();
  });
  const onSignal = () => interrupt.abort();
  for (const name of kSignals) process.once(name, onSignal);

  try {
    checkWorkspace(options);
    checkMounts(options);
    const tellsDenials = options.json !== true;
    const chosen = await chooseRunner(options, process.env, { auditLog, tellsDenials });
    checkCommand(command, chosen.policy.config.security);
    transaction = await openFor(chosen.runner, options);
    const runner = transaction ?? chosen.runner;
    const result = options.json
      ? await collect(runner, command, options, signal)
      : await passThrough(runner, command, options, signal);
    process.exitCode ??= result.exitCode;
    if (!outputLost) {
      const reason = endReason(result, options, command);
      if (reason) printError(reason.said && !options.json ? undefined : reason.message, reason.fix);
    }
    const opened = transaction;
    transaction = undefined; // now settled, so the changes can't be lost
    const settled = opened && (await settle(opened, result, options, signal));
    if (options.json) process.stdout.write(`${resultJson(result, settled)}\n`);
  } finally {
    await transaction?.discard(); // the run could not start
    for (const name of kSignals) process.removeListener(name, onSignal);
  }
}

type Starts = Pick<RuntimeRunner, "exec" | "spawn">;

/** Runs the command with its output kept, for --json. */
async function collect(
  runner: Starts,
  command: string[],
  options: CliOptions,
  signal: AbortSignal,
): Promise<SandboxedExecResult> {
  const stdin = options.stdin ? await readStdin(signal) : undefined;
  const result = await runner.exec({ ...execInput(command, options), stdin, signal });
  for (const { message } of truncations(sizesOf(result))) printError(message);
  return result;
}

/** True if input is passed on. Says so if that of a terminal is not. */
function passesInput({ stdin, interactive }: CliOptions): boolean {
  if (!stdin || interactive) return stdin;
  if (!process.stdin.isTTY) return true;
  if (process.stderr.isTTY) {
    const fix = "-i passes it on, -it gives the command a terminal, --no-stdin says nothing";
    printError("the command gets no input, since that is a terminal", fix);
  }
  return false;
}

/** Runs the command with its streams passed through: as they come, without a limit, and no faster than read. */
async function passThrough(
  runner: Starts,
  command: string[],
  options: CliOptions,
  signal: AbortSignal,
): Promise<SandboxedExecResult> {
  const hasTerminal = options.tty === true;
  const takesInput = passesInput(options);
  const stopTelling = tellDenials();
  const stops = [stopTelling];
  try {
    const pty = hasTerminal ? terminalLikeOurs() : undefined;
    const jobs = hasTerminal ? undefined : followJobControl();
    if (jobs) stops.push(jobs.end);
    const most = options.maxOutput;
    const isWhole = !hasTerminal && most === undefined;
    const relay = openRelay({ stdin: takesInput && !hasTerminal, stdout: isWhole });
    stops.push(relay.close);
    const input = { ...spawnInput(command, options), signal, pty, [kRelay]: relay.pipes };
    const live = await runner.spawn(input);
    stops.push(closeAfterInterrupt(live, signal));
    await publish(live, options.publish ?? []);
    if (hasTerminal) stops.push(followSize(live));
    jobs?.begin(live);
    if (takesInput && relay.pipes.stdin === undefined) stops.push(passInput(live, hasTerminal));
    else if (takesInput) stops.push(() => void process.stdin.destroy());
    else if (!hasTerminal) live.stdin.end();
    const { stdout, stderr } = process;
    const setup = new SetupLine((chunk) => stderr.write(chunk));
    const [result, out, err] = await Promise.all([
      live.result,
      passOutput(live.stdout, stdout, (chunk) => stdout.write(chunk), most),
      live.stderr && passOutput(live.stderr, stderr, (chunk) => setup.add(chunk), most),
    ]);
    setup.end(result.outcome.kind === "setup-failed" ? result.outcome.reason : undefined);
    for (const stop of stops.splice(1)) stop();
    for (const { message } of truncations({ stdout: out, stderr: err })) printError(message);
    return result;
  } finally {
    for (const stop of stops) stop();
  }
}

/**
 * Makes ports of the host lead to the command's, and tells the address of each once something listens there. Where one
 * can't be had, the command is ended, and this rejects.
 */
async function publish(live: SandboxProcess, ports: readonly PublishedPort[]): Promise<void> {
  try {
    for (const { hostPort, port } of ports) {
      const { url } = await live.forward(port, { hostPort });
      const tell = () => printError(`${url} leads to port ${port} of the command`);
      void live.waitForPort(port, { timeoutMs: Number.POSITIVE_INFINITY }).then(tell, () => {});
    }
  } catch (error) {
    const { outcome } = await live.stop();
    if (outcome.kind === "aborted") throw error; // else it had ended by itself, which is its result
  }
}

const kDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string | undefined {
  try {
    return kDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns a stream as text; if it is not valid UTF-8, with U+FFFD and, in addition, exactly in base64. */
function streamFields(name: "stdout" | "stderr", bytes: Uint8Array): Record<string, string> {
  const text = decode(bytes);
  if (text !== undefined) return { [name]: text };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { [name]: buffer.toString("utf8"), [`${name}Base64`]: buffer.toString("base64") };
}

/**
 * Returns the whole result as JSON: its fields, the streams as text if they are valid UTF-8, and the state of
 * its transaction, if it had one.
 */
export function resultJson(result: SandboxedExecResult, transaction?: object): string {
  const { exitCode, outcome, stdout, stderr, ...rest } = result;
  const streams = { ...streamFields("stdout", stdout), ...streamFields("stderr", stderr) };
  return JSON.stringify({ exitCode, outcome, ...streams, ...rest, transaction }, null, 2);
}

/** Tells of network requests that are refused, while the command runs. */

const kConnections = "@openagentic/native-runner:connection";
const kRequests = "@openagentic/native-runner:request";
const kMostTold = 20;

/** Returns "a.test:443"; a name that was not resolved has no port. */
function placeOf({ host, port }: NetworkConnection): string {
  return port === 0 ? host : `${host}:${port}`;
}

/** Returns the option that would allow the connection; "" if no option would, for example for an address. */
function optionFor({ host, port, rule, address }: NetworkConnection): string {
  const isName = /[a-z]/i.test(host.replace(/^.*\./, "")) && !host.includes(":");
  if (!isName || rule !== undefined || address !== undefined) return "";
  const isDefault = port === 0 || port === 80 || port === 443;
  return `--allow-host ${isDefault ? host : `${host}:${port}`}`;
}

/** Returns the line for a denied request: what was refused, why, and the option that grants it. Pure. */
export function denialLine(connection: NetworkConnection): string {
  const option = optionFor(connection);
  const place = visibleLine(placeOf(connection));
  const why = connection.reason === undefined ? "" : ` (${visibleLine(connection.reason)})`;
  return `the network refused ${place}${why}${option && `; ${visibleLine(option)} grants it`}`;
}

/** Returns the line for a port of the host that was not reached; its client has seen a reset. Pure. */
export function hostPortLine({ host, port, reason = "" }: NetworkConnection): string {
  return `the host's ${visibleLine(`${host}:${port}`)} was not reached (${visibleLine(reason)})`;
}

/** Returns the line for a refused request. Pure. */
export function requestLine({ host, method, path, reason = "" }: HttpRequestRecord): string {
  return `refused: ${visibleLine(`${method} ${host}${path}`)} (${visibleLine(reason)})`;
}

/**
 * Prints a line on standard error for each place or request that is refused, and for each port of the host that
 * is not reached, once. Returns a function that stops it.
 */
function tellDenials(): () => void {
  const told = new Set<string>();
  const tell = (key: string, line: string, field: string) => {
    if (told.has(key) || told.size > kMostTold) return;
    told.add(key);
    printError(told.size <= kMostTold ? line : `more was refused: see \`${field}\` of --json`);
  };
  const onConnection = (message: unknown) => {
    const { event, connection } = message as ConnectionMessage;
    if (event !== "refused") return;
    if (connection.via === "host-port") {
      const line = hostPortLine(connection);
      return tell(line, line, "connections");
    }
    if (connection.verdict !== "denied") return;
    const place = optionFor(connection) || placeOf(connection);
    tell(place, denialLine(connection), "connections");
  };
  const onRequest = (message: unknown) => {
    const { request } = message as RequestMessage;
    const line = requestLine(request);
    if (request.verdict === "refused") tell(line, line, "requests");
  };
  subscribe(kConnections, onConnection);
  subscribe(kRequests, onRequest);
  return () => {
    unsubscribe(kConnections, onConnection);
    unsubscribe(kRequests, onRequest);
  };
}
