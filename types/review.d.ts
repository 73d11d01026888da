/** Comments that a person writes on the review page. */

/**
 * A comment on a line of a change, or on the whole file. It keeps its place and the text of its line: if that line has
 * another text now, the comment is outdated, and stays where it was written.
 */
export type ReviewComment = {
  /** Unique for the served review. */
  readonly id: string;
  /** The change's path, relative to the workspace. */
  readonly path: string;
  /** The side that was commented: the host's file, or the transaction's. */
  readonly side: "before" | "after";
  /** The line's number on that side, from 1; absent: the comment is on the whole file. */
  readonly line?: number;
  /** What the line was when the comment was written: at most its first 1,000 characters. Absent without a line. */
  readonly lineText?: string;
  /** As the person wrote it, at most 16 KiB of UTF-8: use `visibleText`, or the like, before a terminal shows it. */
  readonly text: string;
  /** When it was written, in ISO 8601. */
  readonly createdAt: string;
  /** True if the person has marked it as settled. */
  readonly isResolved: boolean;
  /** True if the line has another text now, or the file is no change any more. */
  readonly isOutdated: boolean;
};

/** What has happened to a comment; "changed": its text, or whether it is resolved or outdated. */
export type ReviewCommentEvent = "added" | "changed" | "deleted";
