/** The comments of a review. They are kept in memory, for as long as the review is served. */

import type { ReviewComment, ReviewCommentEvent } from "../../types/review.js";
import { ReviewFailure } from "./failure.js";

/** Bounds of comments. */
export const kMostText = 16 * 1024;
export const kMostLineText = 1000;
export const kMostComments = 1000;

/** A place, and what is written on it. */
export type CommentWish = {
  path: string;
  side: "before" | "after";
  /** From 1; undefined: the whole file. */
  line?: number | undefined;
  /** The beginning of the line as the person sees it; given if, and only if, `line` is. */
  lineText?: string | undefined;
  text: string;
};

/** The fields of a comment that can be changed; those left out stay. */
export type CommentPatch = { text?: string | undefined; isResolved?: boolean | undefined };

/** One side of a change, as it is now. */
export type Side = {
  /** The same version has the same lines; undefined: unknown. */
  version: string | undefined;
  lines(): Promise<readonly string[]>;
};

/** Returns one side of a change; undefined if the path is no change, or has no file on that side. */
export type SideOf = (path: string, side: "before" | "after") => Side | undefined;

type Stored = {
  comment: ReviewComment;
  /** Of the whole line, once it was seen. */
  digest?: string;
  /** The version in which the line was compared last. */
  seen?: string | undefined;
};

async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return String(new Uint8Array(bytes));
}

export class Comments {
  readonly #stored = new Map<string, Stored>(); // the oldest first
  readonly #told: (comment: ReviewComment, event: ReviewCommentEvent) => void;
  #last = 0;

  /** @param told called after each change of a comment */
  constructor(told: (comment: ReviewComment, event: ReviewCommentEvent) => void) {
    this.#told = told;
  }

  get size(): number {
    return this.#stored.size;
  }

  /** Returns frozen comments, in the order in which they were written. */
  list(): readonly ReviewComment[] {
    return Object.freeze([...this.#stored.values()].map(({ comment }) => comment));
  }

  /**
   * Adds a comment, and compares its line.
   * @throws (rejects) ReviewFailure that names the field
   */
  async add(wish: CommentWish, sideOf: SideOf): Promise<ReviewComment> {
    const { path, side, line, lineText, text } = wish;
    if ((line === undefined) !== (lineText === undefined)) {
      throw misuse("lineText: Expected it with `line`, and only then");
    }
    expectText(text);
    if (this.#stored.size >= kMostComments) {
      const message = `there are ${kMostComments} comments already: delete some of them first`;
      throw new ReviewFailure(409, "ERR_REVIEW_COMMENTS", message);
    }
    this.#last += 1;
    const stored: Stored = {
      comment: Object.freeze({
        id: `c${this.#last}`,
        path,
        side,
        ...(line !== undefined && { line }),
        ...(lineText !== undefined && { lineText }),
        text,
        createdAt: new Date().toISOString(),
        isResolved: false,
        isOutdated: false,
      }),
    };
    this.#stored.set(stored.comment.id, stored);
    const now = await isOutdated(stored, sideOf(path, side)).catch(() => line !== undefined);
    stored.comment = withOutdated(stored, now);
    this.#told(stored.comment, "added");
    return stored.comment;
  }

  /** @throws ReviewFailure that names the field */
  change(id: string, { text, isResolved }: CommentPatch): ReviewComment {
    const stored = this.#find(id);
    if (text !== undefined) expectText(text);
    stored.comment = Object.freeze({
      ...stored.comment,
      ...(text !== undefined && { text }),
      ...(isResolved !== undefined && { isResolved }),
    });
    this.#told(stored.comment, "changed");
    return stored.comment;
  }

  /** @throws ReviewFailure if there is no such comment */
  remove(id: string): void {
    const { comment } = this.#find(id);
    this.#stored.delete(id);
    this.#told(comment, "deleted");
  }

  /** Compares the lines of all comments with what they are now. A side that can't be read changes nothing. */
  async refresh(sideOf: SideOf): Promise<void> {
    for (const stored of [...this.#stored.values()]) {
      const { path, side, isOutdated: was, id } = stored.comment;
      const now = await isOutdated(stored, sideOf(path, side)).catch(() => was);
      if (now === stored.comment.isOutdated || !this.#stored.has(id)) continue;
      stored.comment = withOutdated(stored, now);
      this.#told(stored.comment, "changed");
    }
  }

  #find(id: string): Stored {
    const stored = this.#stored.get(id);
    if (stored !== undefined) return stored;
    throw new ReviewFailure(404, "ERR_REVIEW_NO_COMMENT", "id: there is no such comment any more");
  }
}

const misuse = (message: string) => new ReviewFailure(400, "ERR_REVIEW_BODY", message);

function expectText(text: string): void {
  if (text.trim() === "") throw misuse("text: Expected some text");
  const { length: bytes } = new TextEncoder().encode(text);
  if (bytes > kMostText) {
    throw misuse(`text: Expected at most ${kMostText} bytes, got ${bytes}`);
  }
}

const withOutdated = ({ comment }: Stored, isOutdated: boolean): ReviewComment =>
  Object.freeze({ ...comment, isOutdated });

/** Compares the comment's line with what it is now. A comment on a whole file is outdated once that has no change. */
async function isOutdated(stored: Stored, side: Side | undefined): Promise<boolean> {
  const { line, lineText, isOutdated } = stored.comment;
  if (side === undefined) {
    stored.seen = undefined;
    return true;
  }
  if (line === undefined) return false;
  if (side.version !== undefined && side.version === stored.seen) return isOutdated;
  const now = (await side.lines())[line - 1];
  stored.seen = side.version;
  if (now === undefined) return true;
  if (stored.digest !== undefined) return (await digestOf(now)) !== stored.digest;
  if (now.slice(0, kMostLineText) !== lineText) return true;
  stored.digest = await digestOf(now);
  return false;
}
