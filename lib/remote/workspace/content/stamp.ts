import { loadAddon } from "../../../native.js";

/**
 * What tells a state of an entry from its others: mode, device, inode, size, mtime and ctime, as 32-bit
 * words, because comparing big integers makes objects of them.
 */
export type Stamp = { readonly words: Uint32Array; readonly at: number };

/** Of each entry, as native/effects/tree/entry_state.h has them. */
const kNumbers = 6;

/** How many words a stamp has. */
export const kStampWords = 2 * kNumbers;

/** Those of mode, device and inode. */
const kPlaceWords = 6;

const kTypeBits = 0o170000;
const kRegular = 0o100000;

/**
 * Of an open file, or of what a path leads to, through no link in its last step.
 * @throws an Error as those of `node:fs`, which itself tells times in milliseconds or seconds in Deno.
 */
export function stampOf(place: number | string): Stamp {
  const { buffer, byteOffset } = loadAddon().entryState(place);
  return { words: new Uint32Array(buffer, byteOffset, kStampWords), at: 0 };
}

function numberOf({ words, at }: Stamp, which: number): bigint {
  const low = words[at + 2 * which] ?? 0;
  const high = words[at + 2 * which + 1] ?? 0;
  return (BigInt(high) << 32n) | BigInt(low);
}

const signed = (stamp: Stamp, which: number) => BigInt.asIntN(64, numberOf(stamp, which));

/** st_mode. */
export const modeOf = (stamp: Stamp): number => stamp.words[stamp.at] ?? 0;

export const isRegular = (stamp: Stamp): boolean => (modeOf(stamp) & kTypeBits) === kRegular;

/** In bytes. */
export const sizeOf = (stamp: Stamp): number => Number(numberOf(stamp, 3));

/** In nanoseconds since 1970, as the next one is. */
export const mtimeNsOf = (stamp: Stamp): bigint => signed(stamp, 4);

export const ctimeNsOf = (stamp: Stamp): bigint => signed(stamp, 5);

function isSame(one: Stamp, other: Stamp, words: number): boolean {
  for (let at = 0; at < words; at += 1) {
    if (one.words[one.at + at] !== other.words[other.at + at]) return false;
  }
  return true;
}

/** Whether an entry is in the same state; nobody can set ctime. */
export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return isSame(one, other, kStampWords);
}

/** Whether a path still leads to the same directory, with the same mode, whatever it holds. */
export function isSameDirectory(one: Stamp, other: Stamp): boolean {
  return isSame(one, other, kPlaceWords);
}
