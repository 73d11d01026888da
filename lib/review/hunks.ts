/** A file of which some changes are taken, and the others not. Pure. */

import { ReviewFailure } from "./failure.js";

/** Lines that take the place of others: half-open ranges from 0, of what "\n" alone divides. */
export type Hunk = {
  fromBefore: number;
  toBefore: number;
  fromAfter: number;
  toAfter: number;
};

const kNewline = 10;

/**
 * What lies between newlines: behind the last one too, where there may be nothing. Bytes, so that what is
 * no UTF-8 stays what it is.
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
  const newline = Uint8Array.of(kNewline);
  return Buffer.concat(lines.flatMap((line, at) => (at === 0 ? [line] : [newline, line])));
}

/**
 * `before` with the hunks' lines of `after` in it.
 * @throws ReviewFailure where they overlap, are not in order, or lie outside.
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
