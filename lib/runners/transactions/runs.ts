/** The commands that have run in a transaction, in a file of its directory. */

import { appendFile, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import type { SandboxedAuditRecord } from "../../../types/public.js";
import type { TransactionRun } from "../../../types/transaction.js";

/** As `WorkspaceTransaction` keeps them: one line each. */
type Line = Omit<TransactionRun, "endedAt"> & { endedMs: number };

const kName = "runs";
/** Those before: when a file is full it takes this name, and a new one begins. */
const kOlder = "runs-older";
const kMostBytes = 16 * 1024 ** 2;
const kMostRuns = 10_000;
const kOwnersFile = 0o600;
/** How long a line waits for others, so that many short runs are one write. */
const kWaitMs = 100;

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENOENT";

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}

/** Undefined for a line that a death has torn. */
function runOf(line: string): TransactionRun | undefined {
  try {
    const { endedMs, ...run } = JSON.parse(line) as Line;
    return { endedAt: new Date(endedMs), ...run };
  } catch {
    return undefined;
  }
}

/** Never waited for by a run. What can't be written is lost: the files' changes are not. */
export class TransactionRuns {
  readonly #file: string;
  readonly #older: string;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #bytes = 0;
  #runs = 0;

  /** @param directory the transaction's own. */
  constructor(directory: string) {
    this.#file = join(directory, kName);
    this.#older = join(directory, kOlder);
  }

  keep(audit: SandboxedAuditRecord, exitCode: number): void {
    const line: Line = { endedMs: Date.now(), exitCode, audit };
    this.#waiting.push(`${JSON.stringify(line)}\n`);
    this.#timer ??= setTimeout(() => void this.flush(), kWaitMs).unref();
  }

  /** Resolves when all is in the file, or can't be. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#waiting;
    this.#waiting = [];
    if (lines.length > 0) {
      this.#writing = this.#writing.then(() => this.#write(lines)).catch(() => {});
    }
    return this.#writing;
  }

  async read(): Promise<TransactionRun[]> {
    await this.flush();
    const text = (await textOf(this.#older)) + (await textOf(this.#file));
    return text.split("\n").flatMap((line) => runOf(line) ?? []);
  }

  /** The directory is to go: nothing may be written to it any more. */
  async drop(): Promise<void> {
    await this.flush();
    await Promise.all([this.#file, this.#older].map((file) => rm(file, { force: true })));
  }

  async #write(lines: readonly string[]): Promise<void> {
    const text = lines.join("");
    if (this.#bytes > kMostBytes || this.#runs > kMostRuns) {
      await rename(this.#file, this.#older);
      this.#bytes = 0;
      this.#runs = 0;
    }
    await appendFile(this.#file, text, { mode: kOwnersFile });
    this.#bytes += Buffer.byteLength(text);
    this.#runs += lines.length;
  }
}
