/**
 * How much output of one run may be on its way. A broker ends a connection for which it keeps more than 64 MiB (its
 * `max_pending`), so that all runs together stay below that, however many there are; and a run alone gets what its
 * way there and back holds. Pure.
 */

const kMost = 1024 ** 2;
const kLeast = 256 * 1024;
/** The first twelve have all of theirs; 64 have less than 40 MiB together. */
const kShared = 12 * 1024 ** 2;

/** @param others runs that are not settled. */
export function creditFor(others: number): number {
  return Math.max(kLeast, Math.min(kMost, Math.floor(kShared / (others + 1))));
}
