/** What becomes of the changes of `run --transaction`. */

// biome-ignore lint/style/noRestrictedImports: a pager needs this process's own terminal
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { createInterface } from "node:readline";

import type { SandboxedExecResult } from "../../../types/public.js";
import type { Change, Transaction } from "../../../types/transaction.js";
import { changeSummary, counted, diffText, notableChanges } from "../../change-text.js";
import { TransactionError } from "../../errors.js";
import type { CliOptions } from "../options.js";
import { printError, wantsColors } from "../terminal.js";
import { placeWords, type Refusal, refusalOf } from "./transaction-place.js";

/** The largest text that V8 has room for, in bytes. */
export const kMaxDiffBytes = 256 * 1024 ** 2;

/** For --json. */
export type Settled = {
  id: string;
  /** "kept": it waits on disk. */
  state: "committed" | "kept" | "discarded";
  changes: readonly Change[];
  /** Of a commit: what still waits. */
  left?: readonly Change[];
  /** Of a commit that was refused. */
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

  /** @throws (rejects) TransactionError where it is refused. */
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

  /** As `commit`, but that a refusal is told, and the changes are kept. */
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

  /** Asks until something is done. */
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
 * Shows what a command has changed, and does with it what the options say, or the user. Where nobody can
 * be asked, and where it fails, it is kept, so that nothing is lost.
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

/** The question what is to become of changes, at a terminal. */

type Answer = "commit" | "discard" | "keep" | "show";

const kAnswers: readonly Answer[] = ["commit", "discard", "keep", "show"];

/** The one that a word, or its first letters, stands for. */
export function answerOf(text: string): Answer | undefined {
  const word = text.trim().toLowerCase();
  if (word === "diff") return "show";
  return word === "" ? undefined : kAnswers.find((answer) => answer.startsWith(word));
}

/**
 * Asks until there is an answer. The end of the input, Ctrl-C and `signal` are "keep", which loses
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

/** Long text at a terminal, in the user's pager. */

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

/** $PAGER, as a shell's words; else less, where there is one. "" or "cat": none. */
function pagerCommand(): string {
  const named = process.env.PAGER?.trim();
  if (named !== undefined) return named === "cat" ? "" : named;
  return isOnPath("less") ? "less -R" : "";
}

/** False where it can't be started. */
function showIn(command: string, text: string): Promise<boolean> {
  // As git has it: what fits on the screen is only written.
  const env = { LESS: "FRX", LV: "-c", ...process.env };
  const stdio = ["pipe", "inherit", "inherit"] as const;
  const pager = spawn("/bin/sh", ["-c", command], { stdio: [...stdio], env });
  // Ctrl-C is the pager's, and no interrupt of ours.
  const others = process.listeners("SIGINT");
  const ignore = () => {};
  process.removeAllListeners("SIGINT").on("SIGINT", ignore);
  const ended = new Promise<boolean>((resolve) => {
    pager.on("error", () => resolve(false));
    pager.on("close", (code) => resolve(code !== 126 && code !== 127)); // not executable, missing
  });
  pager.stdin?.on("error", () => {}); // who leaves early has seen enough
  pager.stdin?.end(text);
  return ended.finally(() => {
    process.off("SIGINT", ignore);
    for (const other of others) process.on("SIGINT", other);
  });
}

/**
 * Shows a text that has no control characters but colours, and resolves when the user has seen it. Away
 * from a terminal, and where the pager can't be started, it is written to standard output.
 */
export async function page(text: string): Promise<void> {
  const command = process.stdout.isTTY ? pagerCommand() : "";
  if (command === "" || !(await showIn(command, text))) process.stdout.write(text);
}
