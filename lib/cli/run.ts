import type { NetworkConnection, SandboxedExecResult } from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import type { AuditLog } from "../audit-log/audit-log.js";
import { visibleLine } from "../text.js";
import { checkCommand, checkMounts, checkWorkspace } from "./checks.js";
import { chooseRunner } from "./choose-runner.js";
import { type CliOptions, execInput, recorded } from "./options.js";
import { endReason, SetupLine, truncations } from "./reason.js";
import { printError, readStdin, watchOutput } from "./terminal.js";
import { settle } from "./transactions/settle.js";
import { openFor } from "./transactions/transaction-place.js";

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `native-runner run`: passes the output through (or prints the result as JSON), then sets the process's exit
 * code to the result's. The first SIGINT, SIGTERM or SIGHUP aborts the run, as does a closed output. With
 * --transaction, its changes are then settled.
 */
export async function run(command: string[], options: CliOptions): Promise<void> {
  await recorded(options, (auditLog) => runRecorded(command, options, auditLog));
}

async function runRecorded(
  command: string[],
  options: CliOptions,
  auditLog: AuditLog | undefined,
): Promise<void> {
  const interrupt = new AbortController();
  let transaction: Transaction | undefined;
  let outputLost = false;
  watchOutput(() => {
    outputLost = true;
    interrupt.abort();
  });
  const onSignal = () => interrupt.abort();
  for (const name of kSignals) process.once(name, onSignal);

  try {
    checkWorkspace(options);
    checkMounts(options);
    const chosen = await chooseRunner(options, process.env, { auditLog });
    checkCommand(command, chosen.policy.config.security);
    const stdin = options.stdin ? await readStdin(interrupt.signal) : undefined;
    const stderr = new SetupLine((chunk) => process.stderr.write(chunk));
    transaction = await openFor(chosen.runner, options);
    const result = await (transaction ?? chosen.runner).exec({
      ...execInput(command, options),
      stdin,
      signal: interrupt.signal,
      onStdout: options.json ? undefined : (chunk) => process.stdout.write(chunk),
      onStderr: options.json ? undefined : (chunk) => stderr.add(chunk),
    });
    stderr.end(result.outcome.kind === "setup-failed" ? result.outcome.reason : undefined);
    process.exitCode ??= result.exitCode;
    if (!outputLost) {
      for (const reason of truncations(result)) printError(reason.message);
      const reason = endReason(result, options);
      const denied = process.stderr.isTTY && !options.json ? deniedConnections(result) : [];
      if (denied.length > 0) printError(["the network refused:", ...denied].join("\n  "));
      if (reason) printError(reason.said && !options.json ? undefined : reason.message, reason.fix);
    }
    const opened = transaction;
    transaction = undefined; // now settled, so the changes can't be lost
    const settled = opened && (await settle(opened, result, options, interrupt.signal));
    if (options.json) process.stdout.write(`${resultJson(result, settled)}\n`);
  } finally {
    await transaction?.discard(); // the run could not start
    for (const name of kSignals) process.removeListener(name, onSignal);
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

/** Formats the denied network connections of a run for a terminal. Pure. */

const kMostShown = 20;

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

function inColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1].map((column) =>
    Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Returns a row for each denied host and port, in order of their first denial; empty if none were denied. */
export function deniedConnections(result: SandboxedExecResult): string[] {
  const rows = new Map<string, string[]>();
  for (const connection of result.audits.flatMap(({ connections = [] }) => connections)) {
    if (connection.verdict !== "denied") continue;
    const place = placeOf(connection);
    if (rows.has(place)) continue;
    rows.set(place, [visibleLine(place), connection.reason ?? "", optionFor(connection)]);
  }
  const shown = [...rows.values()].slice(0, kMostShown);
  const left = rows.size - shown.length;
  return [
    ...inColumns(shown),
    ...(left === 0 ? [] : [`and ${left} more: see \`connections\` of --json`]),
  ];
}
