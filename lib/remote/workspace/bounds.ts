import { invalidType } from "../../errors.js";
import type { Bounds } from "./content/manifest.js";

const kMostEntries = 2 ** 24;

/** How much a workspace may hold that is moved, or all of a worker's together. */
export type BoundsOptions = {
  /** Entries of one workspace, an integer from 1 to 16,777,216. Default 1,000,000. */
  maxEntries?: number | undefined;
  /** Bytes of files, an integer > 0. Default 16 GiB. */
  maxBytes?: number | undefined;
};

function integer(field: string, value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw invalidType(field, `an integer from 1 to ${most}`, value);
}

/** @throws TypeError */
export function boundsOf({
  maxEntries = 1_000_000,
  maxBytes = 16 * 2 ** 30,
}: BoundsOptions): Bounds {
  return {
    maxEntries: integer("maxEntries", maxEntries, kMostEntries),
    maxBytes: integer("maxBytes", maxBytes, Number.MAX_SAFE_INTEGER),
  };
}
