/** Creates, counts and publishes the records of actions on a transaction. */

import { appendFile, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import type { SandboxedAuditRecord, SandboxedExecResult } from "../../../types/public.js";
import type {
  Change,
  CommittedPath,
  TransactionAudit,
  TransactionRun,
} from "../../../types/transaction.js";
import { TransactionError } from "../../errors.js";
import { endedMsOf } from "../../exec-result.js";
import type { RunMeter } from "../../metrics/run-meter.js";
import type { TransactionCounts } from "../../metrics/run-metrics.js";

const kMostCommitted = 10_000;
const kMostPaths = 100;

type Written = { paths: number; bytes: number };

const kOutcomes: Partial<Record<TransactionError["code"], TransactionAudit["outcome"]>> = {
  ERR_TRANSACTION_CONFLICT: "conflict",
  ERR_TRANSACTION_PROTECTED: "protected",
  ERR_TRANSACTION_UNEXPECTED: "unexpected",
};

function outcomeOf(error: unknown): TransactionAudit["outcome"] {
  if (!(error instanceof TransactionError)) return "failed";
  return kOutcomes[error.code] ?? "failed";
}

const sizeOf = ({ kind, type, size }: Change) => (kind !== "deleted" && type === "file" ? size : 0);

/** Returns the committed paths in the form of a record. */
function committedPaths(committed: readonly Change[], digests: readonly string[]): CommittedPath[] {
  return committed.slice(0, kMostCommitted).map(({ path, kind, type, from, size }, at) => {
    const sha256 = digests[at];
    return {
      path,
      kind,
      type,
      ...(from !== undefined && { from }),
      size,
      ...(sha256 && { sha256 }),
    };
  });
}

/** The records of one transaction. */
export class TransactionRecords {
  readonly #id: string;
  readonly #meter: RunMeter;
  readonly #counts: readonly TransactionCounts[];

  /** @param counts the counts of the transaction and of its runner. */
  constructor(id: string, meter: RunMeter, counts: readonly TransactionCounts[]) {
    this.#id = id;
    this.#meter = meter;
    this.#counts = counts;
  }

  opened(): void {
    for (const each of this.#counts) each.opened();
  }

  closed(): void {
    for (const each of this.#counts) each.closed();
  }

  /**
   * Calls `work`, which adds its details to the record, and settles like it once the record exists. Misuse, a
   * TypeError, has no record.
   */
  async of<Value>(
    action: TransactionAudit["action"],
    work: (
      audit: TransactionAudit,
      commit: (committed: readonly Change[], digests: readonly string[]) => void,
    ) => Promise<Value>,
  ): Promise<Value> {
    const beginMs = performance.now();
    const written: Written = { paths: 0, bytes: 0 };
    const audit: TransactionAudit = {
      kind: "native.transaction",
      transaction: this.#id,
      action,
      at: "",
      durationMs: 0,
      outcome: "done",
    };
    const settle = () => {
      audit.at = new Date().toISOString();
      audit.durationMs = performance.now() - beginMs;
      for (const each of this.#counts) each.settled(audit, written);
      this.#meter.transactionSettled(audit);
    };
    const commit = (committed: readonly Change[], digests: readonly string[]) => {
      written.paths = committed.length;
      for (const change of committed) written.bytes += sizeOf(change);
      audit.committed = committedPaths(committed, digests);
      audit.omitted = written.paths - audit.committed.length;
    };
    try {
      const value = await work(audit, commit);
      settle();
      return value;
    } catch (error) {
      if (error instanceof TypeError) throw error;
      audit.outcome = outcomeOf(error);
      if (audit.outcome !== "failed" && error instanceof TransactionError) {
        audit.paths = error.paths.slice(0, kMostPaths);
      }
      settle();
      throw error;
    }
  }
}

/** The commands that have run in a transaction, stored in a file of its directory. */

/** A stored command: one line each. */
type Line = Omit<TransactionRun, "endedAt"> & { endedMs: number };

const kName = "runs";
/** The older commands: a full file is renamed to this name, and a new one begins. */
const kOlder = "runs-older";
const kMostBytes = 16 * 1024 ** 2;
const kMostRuns = 10_000;
const kOwnersFile = 0o600;
/** Milliseconds that a line waits for others, so that many short runs share one write. */
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

/** Returns undefined for a line that was torn when its process died. */
function runOf(line: string): TransactionRun | undefined {
  try {
    const { endedMs, ...run } = JSON.parse(line) as Line;
    return { endedAt: new Date(endedMs), ...run };
  } catch {
    return undefined;
  }
}

/** Runs never wait for it. A record that can't be written is lost; changes to files are not. */
export class TransactionRuns {
  readonly #file: string;
  readonly #older: string;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #bytes = 0;
  #runs = 0;

  /** @param directory of the transaction itself. */
  constructor(directory: string) {
    this.#file = join(directory, kName);
    this.#older = join(directory, kOlder);
  }

  keep(audit: SandboxedAuditRecord, result: SandboxedExecResult): void {
    const line: Line = { endedMs: endedMsOf(result), exitCode: result.exitCode, audit };
    this.#waiting.push(`${JSON.stringify(line)}\n`);
    this.#timer ??= setTimeout(() => void this.flush(), kWaitMs).unref();
  }

  /** Resolves when everything is in the file, or can't be written. */
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

  /** Stops writing, since the directory is about to be removed. */
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
