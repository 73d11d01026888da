// What documentation.test.ts has to find; nothing else uses it.

export type Bare = "a" | "b";

/** Has a comment, and members that have none. */
export type Half = {
  /** Has one. */
  reported: string;
  missing: string;
  /** Has one. */
  inside: {
    /** Has one. */
    reported: string;
    bare: string;
  };
};
