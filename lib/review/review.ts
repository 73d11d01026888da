/** A transaction as its review page shows it, with the actions that the page offers. */

import type { WorkspaceFiles } from "../../types/files.js";
import type { SandboxedAuditRecord } from "../../types/public.js";
import type { Change, Transaction, TransactionRun } from "../../types/transaction.js";
import { TransactionError } from "../errors.js";

/** A change in the form sent to the page. */
export type ReviewChange = Omit<Change, "changedAt"> & {
  version: string;
  changedAtMs: number;
  runs: number[];
  /** True if the name is not UTF-8: it is shown, and can't be chosen. */
  isUnnamed?: true;
};

/** A file that was chosen on the page, in the version that was shown. */
export type ChosenFile = { path: string; version: string; hunks?: Hunk[] | undefined };

/** The page's request for a commit. */
export type CommitWish = { files: ChosenFile[]; allowProtected?: string[] | undefined };

export type ReviewState = "open" | "discarded" | "closed";

/** Parts of a review. */
export type Reviewed = {
  transaction: Transaction;
  /** The host's files, read through the runner. */
  host: WorkspaceFiles;
  /** True if the transaction was committed before. */
  canUndo: boolean;
  /** The approver in the record of commits. */
  approvedBy: string | undefined;
};

const kMostFile = 16 * 1024 ** 2;

const hasCode = (error: unknown, code: string) => (error as { code?: string }).code === code;

export class Review {
  readonly #transaction: Transaction;
  readonly #host: WorkspaceFiles;
  readonly #approvedBy: string | undefined;
  #state: ReviewState = "open";
  #canUndo: boolean;
  #revision = 0;
  #fingerprint = "";
  #shown = new Map<string, Change>();

  constructor({ transaction, host, canUndo, approvedBy }: Reviewed) {
    this.#transaction = transaction;
    this.#host = host;
    this.#canUndo = canUndo;
    this.#approvedBy = approvedBy;
  }

  get state(): ReviewState {
    return this.#state;
  }

  /** Grows with each change that is seen. */
  get revision(): number {
    return this.#revision;
  }

  /** True if a commit exists that can be undone. */
  get canUndo(): boolean {
    return this.#canUndo;
  }

  /** @throws (rejects) as `Transaction.changes` */
  async changes(): Promise<ReviewChange[]> {
    this.#expectOpen();
    const runs = await this.#transaction.runs();
    const changes = await this.#look();
    return changes.map(({ changedAt, version = "", ...change }) => ({
      ...change,
      version,
      changedAtMs: changedAt?.getTime() ?? 0,
      runs: runsOf({ ...change, ...(changedAt && { changedAt }) }, runs),
      ...(change.path.includes("\ufffd") && { isUnnamed: true }),
    }));
  }

  /** True if something has changed since the page was last updated. */
  async hasChanged(): Promise<boolean> {
    if (this.#state !== "open") return false;
    const before = this.#revision;
    await this.#look();
    return this.#revision !== before;
  }

  async runs(): Promise<ReviewRun[]> {
    return reviewRuns(await this.#transaction.runs());
  }

  /**
   * Returns one side of a change; other paths are refused.
   * @throws (rejects) ReviewFailure; an Error of `node:fs`
   */
  async file(path: string, side: "before" | "after"): Promise<Uint8Array> {
    this.#expectOpen();
    if (this.#shown.size === 0) await this.#look();
    const change = this.#shown.get(path);
    if (change === undefined) {
      throw new ReviewFailure(404, "ERR_REVIEW_NO_CHANGE", "there is no such change any more");
    }
    const bytes = await this.#read(change, side);
    if (bytes !== undefined) return bytes;
    throw new ReviewFailure(404, "ERR_REVIEW_NO_FILE", "there is no file on this side");
  }

  /**
   * Commits the chosen files if all of them are still in the version that was shown.
   * @throws (rejects) as `Transaction.commit`
   */
  async commit({ files, allowProtected }: CommitWish): Promise<{ paths: string[]; left: number }> {
    this.#expectOpen();
    const changes = await this.#look();
    const byPath = new Map(changes.map((change) => [change.path, change]));
    const expected = files.map(({ path, version }): Change => {
      const now = byPath.get(path);
      return { ...(now ?? ({ path } as Change)), version };
    });
    const paths = expected.flatMap(({ path, from }) =>
      from === undefined ? [path] : [path, from],
    );
    const contents = await this.#contents(files, byPath);
    const { committed, left } = await this.#transaction.commit({
      paths,
      exact: true,
      expected,
      contents,
      ...(allowProtected && { allowProtected }),
      ...(this.#approvedBy !== undefined && { approvedBy: this.#approvedBy }),
    });
    this.#canUndo ||= committed.length > 0;
    return { paths: committed.map(({ path }) => path), left: left.length };
  }

  /** @throws (rejects) as `Transaction.undo` */
  async undo(): Promise<void> {
    this.#expectOpen();
    await this.#transaction.undo();
    this.#canUndo = false;
  }

  /** @throws (rejects) as `Transaction.discard` */
  async discard(): Promise<void> {
    this.#expectOpen();
    await this.#transaction.discard();
    this.#state = "discarded";
  }

  async #contents(files: readonly ChosenFile[], changes: ReadonlyMap<string, Change>) {
    const contents: Record<string, Uint8Array> = Object.create(null);
    for (const { path, hunks } of files) {
      const change = changes.get(path);
      if (hunks === undefined || change === undefined) continue;
      if (change.type !== "file" || change.mode === 0) {
        throw new ReviewFailure(400, "ERR_REVIEW_HUNKS", "Expected hunks of files alone");
      }
      const before = (await this.#read(change, "before")) ?? new Uint8Array();
      const after = (await this.#read(change, "after")) ?? new Uint8Array();
      contents[path] = withHunks(before, after, hunks);
    }
    return contents;
  }

  async #read(change: Change, side: "before" | "after"): Promise<Uint8Array | undefined> {
    const { path, from, kind, mode, previousMode } = change;
    const isBefore = side === "before";
    if (isBefore ? previousMode === 0 : mode === 0 || kind === "deleted") return undefined;
    try {
      if (!isBefore) return await this.#transaction.files.read(path, { maxBytes: kMostFile });
      return await this.#host.read(from ?? path, { maxBytes: kMostFile });
    } catch (error) {
      if (hasCode(error, "ENOENT")) return undefined;
      if (hasCode(error, "ERR_FS_FILE_TOO_LARGE")) {
        throw new ReviewFailure(413, "ERR_REVIEW_TOO_LARGE", "the file is too large to be shown");
      }
      throw error;
    }
  }

  async #look(): Promise<Change[]> {
    try {
      const changes = await this.#transaction.changes({ details: true });
      const fingerprint = changes
        .map(({ path, version, conflict }) => `${path}\0${version}\0${conflict ?? ""}`)
        .join("\0");
      if (fingerprint !== this.#fingerprint || this.#revision === 0) this.#revision += 1;
      this.#fingerprint = fingerprint;
      this.#shown = new Map(changes.map((change) => [change.path, change]));
      return changes;
    } catch (error) {
      if (hasCode(error, "ERR_SANDBOX_CLOSED")) this.#state = "closed";
      throw error;
    }
  }

  #expectOpen(): void {
    if (this.#state === "open") return;
    throw new ReviewFailure(410, "ERR_REVIEW_OVER", `the transaction was ${this.#state}`);
  }
}

/** Applies some of a file's changes, and leaves out the others. Pure. */

/** Lines that replace others, as half-open ranges from 0. Only "\n" separates lines. */
export type Hunk = {
  fromBefore: number;
  toBefore: number;
  fromAfter: number;
  toAfter: number;
};

const kNewline = 10;

/**
 * Splits bytes at newlines. The part after the last newline counts too, even if it is empty. Works on bytes, so that
 * content that is not UTF-8 stays unchanged.
 */
function linesOf(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  let from = 0;
  for (let end = bytes.indexOf(kNewline); end >= 0; end = bytes.indexOf(kNewline, from)) {
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  lines.push(bytes.subarray(from));
  return lines;
}

function joined(lines: readonly Uint8Array[]): Uint8Array {
  const length = lines.reduce((sum, line) => sum + line.length + 1, -1);
  const text = new Uint8Array(Math.max(length, 0)).fill(kNewline);
  let at = 0;
  for (const line of lines) {
    text.set(line, at);
    at += line.length + 1;
  }
  return text;
}

/**
 * Returns `before` with the hunks' lines of `after`.
 * @throws ReviewFailure if hunks overlap, are out of order, or lie outside the file
 */
export function withHunks(
  before: Uint8Array,
  after: Uint8Array,
  hunks: readonly Hunk[],
): Uint8Array {
  const old = linesOf(before);
  const now = linesOf(after);
  const parts: Uint8Array[] = [];
  let at = 0;
  let last = 0;
  for (const { fromBefore, toBefore, fromAfter, toAfter } of hunks) {
    const isOrdered = fromBefore >= at && toBefore >= fromBefore && fromAfter >= last;
    if (!isOrdered || toAfter < fromAfter || toBefore > old.length || toAfter > now.length) {
      throw new ReviewFailure(400, "ERR_REVIEW_HUNKS", "Expected hunks in order, within the file");
    }
    for (const line of old.slice(at, fromBefore)) parts.push(line);
    for (const line of now.slice(fromAfter, toAfter)) parts.push(line);
    at = toBefore;
    last = toAfter;
  }
  for (const line of old.slice(at)) parts.push(line);
  return joined(parts);
}

/** The commands of a transaction, in the form sent to the page. */

/** One command. */
export type ReviewRun = {
  id: number;
  command: string[];
  startedAt: string;
  durationMs: number;
  outcome: string;
  exitCode: number;
  signal: string | null;
  runtime: string;
  usage: SandboxedAuditRecord["usage"];
  denials: NonNullable<SandboxedAuditRecord["denials"]>;
  connections: NonNullable<SandboxedAuditRecord["connections"]>;
};

/** A file's time is that of the kernel's last tick, up to 10 ms earlier. */
const kTickMs = 10;
/** Milliseconds by which a reported end may be too early, since it is in whole milliseconds. */
const kRoundingMs = 1;

/**
 * Returns the command without bubblewrap's own options, which end with "--chdir DIRECTORY --"; one of their values may
 * be "--".
 */
function commandOf({ cmd, argv, runtime }: SandboxedAuditRecord): string[] {
  const at = argv.findIndex((word, i) => word === "--chdir" && argv[i + 2] === "--");
  return runtime === "bubblewrap" && at >= 0 ? argv.slice(at + 3) : [cmd, ...argv];
}

export function reviewRuns(runs: readonly TransactionRun[]): ReviewRun[] {
  return runs.map(({ endedAt, exitCode, audit }, id) => ({
    id,
    command: commandOf(audit),
    startedAt: new Date(endedAt.getTime() - audit.durationMs).toISOString(),
    durationMs: audit.durationMs,
    outcome: audit.outcome,
    exitCode,
    signal: audit.signal,
    runtime: audit.runtime,
    usage: audit.usage,
    denials: audit.denials ?? [],
    connections: audit.connections ?? [],
  }));
}

/** Returns the time span of the command itself, without building and removing its sandbox. */
function timeOf({ endedAt, audit }: TransactionRun): { beginMs: number; endMs: number } {
  const { setupMs, commandMs, teardownMs } = audit.timing;
  const endMs = endedAt.getTime() - (teardownMs ?? 0) + kRoundingMs;
  const lastedMs = commandMs ?? audit.durationMs - (setupMs ?? 0);
  return { beginMs: endMs - lastedMs - 2 * kRoundingMs, endMs };
}

/**
 * Returns the runs during which a path was last changed: one, unless several ran at once. A run that began in the same
 * clock tick counts only if no other matches.
 */
export function runsOf(change: Change, runs: readonly TransactionRun[]): number[] {
  const at = change.changedAt?.getTime();
  if (at === undefined) return [];
  const during = (slackMs: number) =>
    runs.flatMap((run, id) => {
      const { beginMs, endMs } = timeOf(run);
      return at <= endMs && at >= beginMs - slackMs ? [id] : [];
    });
  const surely = during(0);
  return surely.length > 0 ? surely : during(kTickMs);
}

/** Errors of requests, in the form sent to the page. */

/** An answer with a status other than 200. */
export class ReviewFailure extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** An error in the form sent to the page. */
export type SentFailure = {
  status: number;
  body: { error: { code: string; message: string; fix?: string; paths?: readonly string[] } };
};

const kRefused = 409;
const kMisuse = 400;
const kFailed = 500;

/** Converts any thrown value to an answer, without a stack. */
export function sentFailure(error: unknown): SentFailure {
  if (error instanceof TransactionError) {
    const { code, message, paths } = error;
    return { status: kRefused, body: { error: { code, message, paths } } };
  }
  const { message, code, fix } = error as Error & { code?: string; fix?: string };
  const status =
    error instanceof ReviewFailure
      ? error.status
      : error instanceof TypeError || error instanceof RangeError
        ? kMisuse
        : kFailed;
  const reported = { code: code ?? "ERR_REVIEW", message, ...(fix && { fix }) };
  return { status, body: { error: reported } };
}
