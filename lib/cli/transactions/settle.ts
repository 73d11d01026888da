/** Settles the changes of `run --transaction`. */

// biome-ignore lint/style/noRestrictedImports: a pager needs this process's own terminal
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { createInterface } from "node:readline";

import type { SandboxedExecResult } from "../../../types/public.js";
import type { Change, Transaction } from "../../../types/transaction.js";
import { changeSummary, counted, diffText } from "../../change-text.js";
import { TransactionError } from "../../errors.js";
import { notableChanges } from "../../notable-changes.js";
import type { CliOptions } from "../options.js";
import { printError, wantsColors } from "../terminal.js";
import { placeWords, type Refusal, refusalOf } from "./transaction-place.js";

/** Maximum size in bytes of a text that V8 can hold. */
export const kMaxDiffBytes = 256 * 1024 ** 2;

/** The result for --json. */
export type Settled = {
  id: string;
  /** "kept": it remains on disk. */
  state: "committed" | "kept" | "discarded";
  changes: readonly Change[];
  /** Changes that remain after a commit. */
  left?: readonly Change[];
  /** The refusal of a commit. */
  error?: Refusal["json"];
};

const hasSucceeded = ({ outcome, exitCode }: SandboxedExecResult) =>
  outcome.kind === "exited" && exitCode === 0;

class Settlement {
  readonly #transaction: Transaction;
  readonly #options: CliOptions;
  readonly #changes: readonly Change[];

  constructor(transaction: Transaction, options: CliOptions, changes: readonly Change[]) {
    this.#transaction = transaction;
    this.#options = options;
    this.#changes = changes;
  }

  #tell(message: string, fix?: string): void {
    if (!this.#options.json) printError(message, fix);
  }

  #refusal(error: TransactionError): Refusal {
    return refusalOf(error, `${this.#transaction.id}${placeWords(this.#options)}`);
  }

  async discard(): Promise<Settled> {
    await this.#transaction.discard();
    if (this.#changes.length > 0) this.#tell("discarded");
    return { id: this.#transaction.id, state: "discarded", changes: this.#changes };
  }

  async keep(why = ""): Promise<Settled> {
    const { id } = this.#transaction;
    await this.#transaction.close();
    const place = placeWords(this.#options);
    this.#tell(
      `${why}the changes wait in transaction ${id}: \`native-runner tx show|diff|commit|discard ${id}${place}\``,
    );
    return { id, state: "kept", changes: this.#changes };
  }

  /** @throws (rejects) TransactionError if the commit is refused. */
  async commit(): Promise<Settled> {
    const { id } = this.#transaction;
    const { allowProtected = [] } = this.#options;
    const { committed, left } = await this.#transaction.commit({ allowProtected });
    await this.#transaction.close();
    const place = placeWords(this.#options);
    const waits =
      left.length === 0 ? "" : `; ${counted(left.length, "change")} can't be, and waits`;
    this.#tell(
      `committed ${counted(notableChanges(committed).length, "change")}${waits}; \`native-runner tx undo ${id}${place}\` takes it back`,
    );
    return { id, state: "committed", changes: this.#changes, left };
  }

  /** Like `commit`, but reports a refusal and keeps the changes. */
  async commitOrKeep(): Promise<Settled> {
    try {
      return await this.commit();
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      const refusal = this.#refusal(error);
      this.#tell(refusal.message, refusal.fix);
      process.exitCode = refusal.exitCode;
      return { ...(await this.keep()), error: refusal.json };
    }
  }

  /** Asks the user until a choice succeeds. */
  async asAsked(signal: AbortSignal): Promise<Settled> {
    for (;;) {
      const answer = await ask(signal);
      if (answer === "keep") return this.keep();
      if (answer === "discard") return this.discard();
      try {
        if (answer === "commit") return await this.commit();
        const diff = await this.#transaction.diff({ maxBytes: kMaxDiffBytes });
        await page(diffText(diff, wantsColors(process.stdout)));
      } catch (error) {
        if (!(error instanceof TransactionError) && !(error instanceof RangeError)) throw error;
        if (error instanceof RangeError)
          printError(
            "the diff is too long: keep the changes, and use `native-runner tx diff --paths`",
          );
        else printError(this.#refusal(error).message, this.#refusal(error).fix);
      }
    }
  }
}

/**
 * Shows the changes of a command, and settles them as the options or the user choose. If no user can be
 * asked, or the choice fails, the changes are kept, so that nothing is lost.
 */
export async function settle(
  transaction: Transaction,
  result: SandboxedExecResult,
  options: CliOptions,
  signal: AbortSignal,
): Promise<Settled> {
  try {
    return await settled(transaction, result, options, signal);
  } catch (error) {
    await transaction.close();
    printError(`what it has changed waits in transaction ${transaction.id}, since this failed:`);
    throw error;
  }
}

async function settled(
  transaction: Transaction,
  result: SandboxedExecResult,
  options: CliOptions,
  signal: AbortSignal,
): Promise<Settled> {
  const changes = await transaction.changes();
  const settlement = new Settlement(transaction, options, changes);
  if (changes.length === 0) {
    if (!options.json) printError("it has changed nothing");
    return settlement.discard();
  }
  if (!options.json) {
    process.stderr.write(changeSummary(changes, wantsColors(process.stderr)));
  }
  if (options.discard) return settlement.discard();
  if (options.commit) {
    if (hasSucceeded(result)) return settlement.commitOrKeep();
    return settlement.keep("nothing was committed, since the command did not exit with 0: ");
  }
  const canAsk = process.stdin.isTTY && process.stderr.isTTY && !options.json;
  return canAsk && !signal.aborted ? settlement.asAsked(signal) : settlement.keep();
}

/** Asks at a terminal how to settle the changes. */

type Answer = "commit" | "discard" | "keep" | "show";

const kAnswers: readonly Answer[] = ["commit", "discard", "keep", "show"];

/** Returns the answer that a word, or its first letters, denotes. */
export function answerOf(text: string): Answer | undefined {
  const word = text.trim().toLowerCase();
  if (word === "diff") return "show";
  return word === "" ? undefined : kAnswers.find((answer) => answer.startsWith(word));
}

/**
 * Asks until a valid answer is given. The end of the input, Ctrl-C and `signal` mean "keep", which loses
 * nothing.
 */
async function ask(signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) return "keep";
  const lines = createInterface({ input: process.stdin, output: process.stderr, signal });
  lines.setPrompt("commit, discard, keep, or show the diff? [c/d/k/s] ");
  try {
    return await new Promise<Answer>((resolve) => {
      lines.on("SIGINT", () => lines.close());
      lines.on("close", () => {
        process.stderr.write("\n");
        resolve("keep");
      });
      lines.on("line", (line) => {
        const answer = answerOf(line);
        if (answer === undefined) lines.prompt();
        else resolve(answer);
      });
      lines.prompt();
    });
  } finally {
    lines.removeAllListeners("close");
    lines.close();
  }
}

/** Shows long text at a terminal, in the user's pager. */

function isOnPath(program: string): boolean {
  const directories = (process.env.PATH ?? "").split(delimiter).filter(isAbsolute);
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Returns $PAGER, as shell words; otherwise less, if it exists. "" or "cat": none. */
function pagerCommand(): string {
  const named = process.env.PAGER?.trim();
  if (named !== undefined) return named === "cat" ? "" : named;
  return isOnPath("less") ? "less -R" : "";
}

/** Resolves with false if it can't be started. */
function showIn(command: string, text: string): Promise<boolean> {
  // Like git: text that fits on the screen is only printed.
  const env = { LESS: "FRX", LV: "-c", ...process.env };
  const stdio = ["pipe", "inherit", "inherit"] as const;
  const pager = spawn("/bin/sh", ["-c", command], { stdio: [...stdio], env });
  // The pager handles Ctrl-C; it does not interrupt this process.
  const others = process.listeners("SIGINT");
  const ignore = () => {};
  process.removeAllListeners("SIGINT").on("SIGINT", ignore);
  const ended = new Promise<boolean>((resolve) => {
    pager.on("error", () => resolve(false));
    pager.on("close", (code) => resolve(code !== 126 && code !== 127)); // not executable, missing
  });
  pager.stdin?.on("error", () => {}); // the user may close the pager early
  pager.stdin?.end(text);
  return ended.finally(() => {
    process.off("SIGINT", ignore);
    for (const other of others) process.on("SIGINT", other);
  });
}

/**
 * Shows a text without control characters except colors, and resolves when the user has closed the pager.
 * Without a terminal, or if the pager can't be started, writes the text to standard output.
 */
export async function page(text: string): Promise<void> {
  const command = process.stdout.isTTY ? pagerCommand() : "";
  if (command === "" || !(await showIn(command, text))) process.stdout.write(text);
}
