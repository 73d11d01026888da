/** The body of an answer, with placeholders in the place of values, in whatever coding it comes. */

import type { Readable, Transform } from "node:stream";
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
} from "node:zlib";

import { MaskingStream, type Masks } from "../mask.js";

type Coding = { decode: () => Transform; encode: () => Transform };

// Each part of a body is passed on when it comes: a server may send the next one in an hour.
const kFlush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const kBrotliFlush = { flush: constants.BROTLI_OPERATION_FLUSH };

const kCodings: Readonly<Record<string, Coding>> = {
  gzip: { decode: () => createGunzip(kFlush), encode: () => createGzip({ flush: kFlush.flush }) },
  "x-gzip": {
    decode: () => createGunzip(kFlush),
    encode: () => createGzip({ flush: kFlush.flush }),
  },
  deflate: {
    decode: () => createInflate(kFlush),
    encode: () => createDeflate({ flush: kFlush.flush }),
  },
  br: {
    decode: () => createBrotliDecompress(kBrotliFlush),
    encode: () => createBrotliCompress(kBrotliFlush),
  },
};

/** The codings that bodies can be looked into; a request may ask for no others. */
export const kKnownCodings: readonly string[] = [...Object.keys(kCodings), "identity"];

/** Returns Accept-Encoding without codings that can't be looked into. */
export function knownEncodings(value: string): string {
  const kept = value.split(",").filter((each) => {
    const [name = ""] = each.trim().toLowerCase().split(";", 1);
    return kKnownCodings.includes(name.trim());
  });
  return kept.length > 0 ? kept.join(",").trim() : "identity";
}

/** What becomes of a body: undefined if it can't be looked into. */
export type Passage = { body: Readable; keepsLength: boolean };

/**
 * Returns the body masked; as it is if there is nothing to mask.
 * @param coding the answer's Content-Encoding, or "".
 */
export function maskedBody(body: Readable, coding: string, masks: Masks): Passage | undefined {
  if (masks.size === 0) return { body, keepsLength: true };
  const isSame = [...masks].every(([value, placeholder]) => value.length === placeholder.length);
  const name = coding.trim().toLowerCase();
  const forward = (from: Readable, to: Transform): Transform => {
    from.on("error", (error) => to.destroy(error));
    to.on("close", () => from.destroy());
    return from.pipe(to);
  };
  if (name === "" || name === "identity") {
    return { body: forward(body, new MaskingStream(masks)), keepsLength: isSame };
  }
  const found = kCodings[name];
  if (found === undefined) return undefined;
  const plain = forward(forward(body, found.decode()), new MaskingStream(masks));
  return { body: forward(plain, found.encode()), keepsLength: false };
}
