/** A transaction as its review page shows it, with the actions that the page offers. */

import type { WorkspaceFiles } from "../../types/files.js";
import type { ReviewComment } from "../../types/review.js";
import type { Change, Transaction } from "../../types/transaction.js";
import type { CommentPatch, Comments, CommentWish, SideOf } from "./comments.js";
import { ReviewFailure } from "./failure.js";
import { type ReviewRun, reviewRuns, runsOf } from "./runs.js";

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
  /** The comments, which may be older than the transaction. */
  comments: Comments;
};

const kMostFile = 16 * 1024 ** 2;

const hasCode = (error: unknown, code: string) => (error as { code?: string }).code === code;

export class Review {
  readonly #transaction: Transaction;
  readonly #host: WorkspaceFiles;
  readonly #approvedBy: string | undefined;
  readonly #comments: Comments;
  #state: ReviewState = "open";
  #canUndo: boolean;
  /** A discard that is under way. */
  #discarding: Promise<void> | undefined;
  #revision = 0;
  #fingerprint = "";
  #shown = new Map<string, Change>();

  constructor({ transaction, host, canUndo, approvedBy, comments }: Reviewed) {
    this.#transaction = transaction;
    this.#host = host;
    this.#canUndo = canUndo;
    this.#approvedBy = approvedBy;
    this.#comments = comments;
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
    const discard = async () => {
      await this.#transaction.discard();
      this.#state = "discarded";
    };
    this.#discarding ??= discard().finally(() => {
      this.#discarding = undefined;
    });
    await this.#discarding;
  }

  /**
   * Returns the comments, of which each knows whether its line is still the same. Does not reject: those of a
   * transaction that is over are as they were last.
   */
  async comments(): Promise<readonly ReviewComment[]> {
    if (this.#state === "open" && this.#comments.size > 0) {
      const sideOf = await this.#sides().catch(() => undefined);
      if (sideOf !== undefined) await this.#comments.refresh(sideOf);
    }
    return this.#comments.list();
  }

  /**
   * Adds a comment.
   * @throws (rejects) ReviewFailure if there is no such change or side, or a field is wrong
   */
  async comment(wish: CommentWish): Promise<ReviewComment> {
    this.#expectOpen();
    const sideOf = await this.#sides();
    const { path, side } = wish;
    if (sideOf(path, "before") === undefined && sideOf(path, "after") === undefined) {
      throw new ReviewFailure(
        404,
        "ERR_REVIEW_NO_CHANGE",
        "path: there is no such change any more",
      );
    }
    if (sideOf(path, side) === undefined) {
      throw new ReviewFailure(400, "ERR_REVIEW_SIDE", `side: there is no file ${side} this change`);
    }
    return this.#comments.add(wish, sideOf);
  }

  /** @throws ReviewFailure if there is no such comment, or a field is wrong */
  changeComment(id: string, patch: CommentPatch): ReviewComment {
    return this.#comments.change(id, patch);
  }

  /** @throws ReviewFailure if there is no such comment */
  removeComment(id: string): void {
    this.#comments.remove(id);
  }

  /** Returns the sides of the changes as they are now. Other than {@link changes}, it is no look of the page's. */
  async #sides(): Promise<SideOf> {
    const changes = await this.#transaction.changes({ details: true });
    const byPath = new Map(changes.map((change) => [change.path, change]));
    const read = new Map<string, Promise<readonly string[]>>();
    return (path, side) => {
      const change = byPath.get(path);
      if (change === undefined) return undefined;
      const { kind, mode, previousMode, version } = change;
      const isBefore = side === "before";
      if (isBefore ? previousMode === 0 : mode === 0 || kind === "deleted") return undefined;
      const lines = async () => {
        const bytes = change.type === "file" ? await this.#read(change, side) : undefined;
        return bytes === undefined ? [] : linesOf(bytes).map(textOf);
      };
      return {
        version: isBefore ? undefined : version, // the host's file has none
        lines: () => {
          const key = `${side} ${path}`;
          const known = read.get(key) ?? lines();
          read.set(key, known);
          return known;
        },
      };
    };
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
      if (!hasCode(error, "ERR_SANDBOX_CLOSED")) throw error;
      await this.#discarding?.catch(() => {}); // whoever asked for it is told
      if (this.#state === "open") this.#state = "closed";
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

/** Decodes a line of UTF-8 as the page does. */
const textOf = (line: Uint8Array) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(line);

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
