// What documentation.test.ts has to find; nothing else uses it.

export type Bare = "a" | "b";

/** Has a comment, and members that have none. */
export type Half = {
  /** Has one. */
  told: string;
  missing: string;
  /** Has one. */
  inside: {
    /** Has one. */
    told: string;
    bare: string;
  };
};
