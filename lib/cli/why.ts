import { createInterface } from "node:readline/promises";

import Table from "cli-table3";
import pc from "picocolors";

import type { Denial, SandboxedExecResult } from "../../types/public.js";
import type { AuditLog } from "../audit-log/audit-log.js";
import { visibleLine } from "../text.js";
import { checkCommand, checkMounts, checkWorkspace } from "./checks.js";
import { chooseRunner } from "./choose-runner.js";
import { type CliOptions, execInput, recorded, recordGrants, withGrants } from "./options.js";
import { endReason, SetupLine } from "./reason.js";
import {
  CliError,
  commandOutput,
  printError,
  readStdin,
  wantsColors,
  watchOutput,
} from "./terminal.js";

/** Options as commander passes them. */
export type WhyOptions = CliOptions & {
  /** Run the command again with the grants, after confirmation. */
  apply?: boolean;
  /** Confirm in advance. */
  yes?: boolean;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs the command once; its output goes to standard error, since standard output carries the answer. */
async function tryOut(
  command: readonly string[],
  options: CliOptions,
  stdin: Uint8Array | undefined,
  signal: AbortSignal,
  auditLog: AuditLog | undefined,
): Promise<SandboxedExecResult> {
  checkMounts(options);
  const chosen = await chooseRunner(options, process.env, { auditLog });
  checkCommand(command, chosen.policy.config.security);
  const stderr = new SetupLine(commandOutput());
  const result = await chosen.runner.exec({
    ...execInput(command, options),
    stdin,
    signal,
    explain: "lookups",
    onStdout: options.json ? undefined : commandOutput(),
    onStderr: options.json ? undefined : (chunk) => stderr.add(chunk),
  });
  stderr.end(result.outcome.kind === "setup-failed" ? result.outcome.reason : undefined);
  return result;
}

function tell(result: SandboxedExecResult, options: CliOptions): void {
  const reason = endReason(result, options);
  if (reason) printError(reason.said ? undefined : reason.message, reason.fix);
  const colors = wantsColors(process.stdout);
  const { denials, denialsOmitted } = result;
  process.stdout.write(`${whyText(denials, denialsOmitted, colors, process.stdout.columns)}\n`);
}

/**
 * `native-runner why`: runs a command like `run`, and prints the accesses that the sandbox refused, the
 * refusing layer, and the smallest grant for each. The exit code is the command's; with --apply that of the
 * second run, if there was one.
 */
export async function why(command: string[], options: WhyOptions): Promise<void> {
  await recorded(options, (auditLog) => whyRecorded(command, options, auditLog));
}

async function whyRecorded(
  command: string[],
  options: WhyOptions,
  auditLog: AuditLog | undefined,
): Promise<void> {
  const { apply = false, yes = false, ...rest } = options;
  const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true && !options.json;
  if (apply && !yes && !canAsk) {
    throw new CliError(
      "--apply asks before it grants anything, and there is no terminal to ask at",
      2,
      "say that you agree with --yes, or paste the options that are printed without --apply",
    );
  }
  const interrupt = new AbortController();
  watchOutput(() => interrupt.abort());
  const onSignal = () => interrupt.abort();
  for (const name of kSignals) process.once(name, onSignal);
  try {
    checkWorkspace(rest);
    const stdin = rest.stdin ? await readStdin(interrupt.signal) : undefined;
    const first = await tryOut(command, rest, stdin, interrupt.signal, auditLog);
    if (!rest.json) tell(first, rest);
    process.exitCode ??= first.exitCode;
    const grants = optionsOf(first.denials);
    let again: SandboxedExecResult | undefined;
    const agrees = async () =>
      yes || (await askYes("Run it again with these options?", interrupt.signal));
    if (apply && grants.length > 0 && !interrupt.signal.aborted && (await agrees())) {
      const granted = withGrants(rest, first.denials);
      const approvedBy = yes ? "--yes" : "the person at the terminal";
      recordGrants(auditLog, first.denials, { approvedBy, scope: "run", argv: command });
      again = await tryOut(command, granted, stdin, interrupt.signal, auditLog);
      if (!rest.json) tell(again, granted);
      process.exitCode = again.exitCode;
    }
    if (rest.json) process.stdout.write(`${JSON.stringify(whyJson(first, again), null, 2)}\n`);
  } finally {
    for (const name of kSignals) process.removeListener(name, onSignal);
  }
}

/** Formats a command's denials as a table for people. Pure. */

type Colors = ReturnType<typeof pc.createColors>;

/** Widths of the second and third column, and of the frame on each line. */
const kByWidth = 24;
const kFrame = 2 + 1 + 1; // left and right edge, and the line between columns
const kNarrowest = 60;
const kWidest = 120;

/** Returns the requested object: a path, a host with its port, or the operation alone. */
export function wantedOf({ kind, operation, path, host, port }: Denial): string {
  const place = host === undefined ? undefined : port === undefined ? host : `${host} port ${port}`;
  const what = path ?? place;
  return what === undefined ? operation : `${kind} ${what}`;
}

function detailOf({ operation, program, errno, count, path, host }: Denial): string {
  const called = path === undefined && host === undefined ? "" : operation;
  const by = program === undefined ? "" : `by ${program}`;
  const times = count > 1 ? `${count} times` : "";
  return [[called, by].filter(Boolean).join(" "), errno, times].filter(Boolean).join(", ");
}

/** Splits a text into lines of limited length, at any character: paths have no better place. */
function cut(text: string, width: number): string {
  const letters = [...text];
  const lines: string[] = [];
  for (let at = 0; at < letters.length; at += width)
    lines.push(letters.slice(at, at + width).join(""));
  return lines.join("\n");
}

/** Returns the grants that the command line can express, each once, in the order of the denials. */
export function optionsOf(denials: readonly Denial[]): string[] {
  const said = denials.flatMap(({ grant }) =>
    grant === undefined || grant.cli === "" ? [] : grant.cli,
  );
  return [...new Set(said)];
}

/** Returns the grants that it can't express: for code, and for a configuration file. */
function others(denials: readonly Denial[]): string[] {
  const said = denials.flatMap(({ grant }) =>
    grant === undefined || grant.cli !== ""
      ? []
      : `${grant.option}: ${visibleLine(JSON.stringify(grant.value))}`,
  );
  return [...new Set(said)];
}

function answer({ grant, notAdvised }: Denial, width: number, colors: Colors): string {
  if (grant === undefined)
    return colors.yellow(cut(visibleLine(`no grant: ${notAdvised ?? ""}`), width));
  const { cli, option, value } = grant;
  const text = cli === "" ? `option ${option}: ${JSON.stringify(value)}` : cli;
  return colors.green(cut(visibleLine(text), width));
}

function row(denial: Denial, widths: readonly [number, number], colors: Colors): string[] {
  const [left, right] = widths.map((width) => width - 2) as [number, number]; // padding
  const wanted = cut(visibleLine(wantedOf(denial)), left);
  const detail = cut(visibleLine(detailOf(denial)), left);
  const first = detail === "" ? wanted : `${wanted}\n${colors.dim(detail)}`;
  const by = colors.red(denial.by);
  return [`${first}\n${answer(denial, left, colors)}`, cut(by, Math.max(right, by.length))];
}

/** Returns the table, followed by the grants as options to paste. */
export function whyText(
  denials: readonly Denial[],
  omitted: number,
  useColors: boolean,
  columns = 80,
): string {
  const colors = pc.createColors(useColors);
  if (denials.length === 0) return "nothing was denied";
  const width = Math.min(Math.max(columns, kNarrowest), kWidest) - kFrame + 1;
  const right = Math.min(kByWidth, Math.max(...denials.map(({ by }) => by.length)) + 3);
  const widths = [width - right, Math.max(right, 9)] as const;
  const table = new Table({
    head: ["Denied, and what would allow it", "By"],
    colWidths: [...widths],
    style: { head: [], border: [] },
  });
  table.push(...denials.map((denial) => row(denial, widths, colors)));
  const lines = [table.toString()];
  if (omitted > 0) lines.push(`and ${omitted} more that are not shown`);
  const options = optionsOf(denials);
  if (options.length > 0) {
    lines.push("", colors.bold("With these options it gets further:"));
    lines.push(`  ${options.map(visibleLine).join(" \\\n  ")}`);
  }
  const rest = others(denials);
  if (rest.length > 0) {
    lines.push("", colors.bold("The command line has no option for:"));
    lines.push(...rest.map((text) => `  ${text}`));
  }
  return lines.join("\n");
}

/** Formats a command's denials for --json. Pure. */

/** The fields of a result that concern denials. */
type Reported = Pick<SandboxedExecResult, "exitCode" | "outcome" | "denials" | "denialsOmitted">;

/** `again`: the second run, with the grants. */
export function whyJson(result: Reported, again?: Reported): object {
  const { exitCode, outcome, denials, denialsOmitted } = result;
  const reported = { exitCode, outcome, denials, denialsOmitted, options: optionsOf(denials) };
  return again === undefined ? reported : { ...reported, again: whyJson(again) };
}

/** Asks a yes-or-no question at a terminal. */

/** Resolves with false for any answer but y and yes, the end of the input, Ctrl-C and `signal`. */
async function askYes(question: string, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = new Promise<string>((resolve) => {
      lines.once("SIGINT", () => resolve(""));
      lines.once("close", () => resolve(""));
    });
    const answered = lines.question(`${question} [y/N] `, { signal }).catch(() => "");
    return /^y(es)?$/i.test((await Promise.race([answered, closed])).trim());
  } finally {
    lines.close();
  }
}
