/** A place at which the package takes an object: with nothing wrong, and how one is misspelled. */

/** What the entry points need of the host. */
export type Host = {
  shadowDir: string;
  /** A .wasm file that answers. */
  skill: string;
};

export type EntryPoint = {
  title: string;
  /** What the message calls the object. */
  place: string;
  /** Nothing is wrong with it. */
  right: object;
  /** A field that is not there, and the one that is meant. */
  misspelled: [name: string, meant: string];
  call(given: never): unknown;
};

/** Puts the object that is looked at into one that has it. */
export const inside = (
  point: EntryPoint,
  place: string,
  wrap: (given: never) => object,
): EntryPoint => ({
  ...point,
  place,
  call: (given) => point.call(wrap(given) as never),
});
