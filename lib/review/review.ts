/** A transaction as its page sees it: what there is, and what may be done with it. */

import type { WorkspaceFiles } from "../../types/files.js";
import type { Change, Transaction } from "../../types/transaction.js";
import { ReviewFailure } from "./failure.js";
import { type Hunk, withHunks } from "./hunks.js";
import { type ReviewRun, reviewRuns, runsOf } from "./run-list.js";

/** As the page has it. */
export type ReviewChange = Omit<Change, "changedAt"> & {
  version: string;
  changedAtMs: number;
  runs: number[];
  /** The name is no UTF-8: it is shown, and can't be chosen. */
  isUnnamed?: true;
};

/** A file that the page has chosen, as it was shown. */
export type ChosenFile = { path: string; version: string; hunks?: Hunk[] | undefined };

/** What the page asks to be committed. */
export type CommitWish = { files: ChosenFile[]; allowProtected?: string[] | undefined };

export type ReviewState = "open" | "discarded" | "closed";

/** Who reviews what. */
export type Reviewed = {
  transaction: Transaction;
  /** The host's files, as the runner has them. */
  host: WorkspaceFiles;
  /** Whether it was committed before. */
  canUndo: boolean;
  /** For the record of commits. */
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

  /** Whether there is a commit that could be undone. */
  get canUndo(): boolean {
    return this.#canUndo;
  }

  /** @throws (rejects) as `Transaction.changes`. */
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

  /** Whether there is something that the page has not been told of. */
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
   * One side of a change; of nothing else can be asked.
   * @throws (rejects) ReviewFailure; an Error of `node:fs`.
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
   * Commits what was chosen, if all of it is still what was shown.
   * @throws (rejects) as `Transaction.commit`.
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

  /** @throws (rejects) as `Transaction.undo`. */
  async undo(): Promise<void> {
    this.#expectOpen();
    await this.#transaction.undo();
    this.#canUndo = false;
  }

  /** @throws (rejects) as `Transaction.discard`. */
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
