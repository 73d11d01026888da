import type { SandboxedExecResult } from "../../../types/public.js";
import type { AuditLog } from "../../audit-log/audit-log.js";
import { recorded } from "../audit/audit-option.js";
import { recordGrants } from "../audit/record-grants.js";
import { chooseRunner } from "../choose-runner.js";
import { type CliOptions, execInput } from "../options.js";
import { endReason } from "../reason.js";
import { SetupLine } from "../setup-line.js";
import { checkCommand } from "../shell-lists.js";
import { CliError, printError, readStdin, wantsColors, watchOutput } from "../terminal.js";
import { checkMounts, checkWorkspace } from "../workspace.js";
import { askYes } from "./ask-yes.js";
import { whyJson } from "./why-json.js";
import { optionsOf, whyText } from "./why-text.js";
import { withGrants } from "./with-grants.js";

/** As commander hands them over. */
export type WhyOptions = CliOptions & {
  /** Run it again with the grants, once somebody has agreed. */
  apply?: boolean;
  /** Agreed to beforehand. */
  yes?: boolean;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** One try: the command's output goes to standard error, since the answer is what is printed. */
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
  const stderr = new SetupLine((chunk) => process.stderr.write(chunk));
  const result = await chosen.runner.exec({
    ...execInput(command, options),
    stdin,
    signal,
    explain: "lookups",
    onStdout: options.json ? undefined : (chunk) => process.stderr.write(chunk),
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
 * `native-runner why`: runs a command as `run` does, and prints what the sandbox refused it, by which of
 * its walls, and the smallest grant for each. The exit code is the command's; with --apply that of the
 * second time, where there is one.
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
