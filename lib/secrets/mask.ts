/** Puts placeholders in the place of values in what a server answers, also where a value is split between chunks. */

import { Transform, type TransformCallback } from "node:stream";

/** Values by the placeholders that commands see instead. */
export type Masks = ReadonlyMap<string, string>;

/** Longer values first: one may begin with another. */
const inOrder = (masks: Masks) => [...masks].sort(([one], [other]) => other.length - one.length);

/** Returns the text with placeholders for values. */
export function masked(text: string, masks: Masks): string {
  let result = text;
  for (const [value, placeholder] of inOrder(masks)) result = result.replaceAll(value, placeholder);
  return result;
}

/** Masks as long as the values, for streams whose frames have lengths. */
export const ofSameLength = (masks: Masks): Masks =>
  new Map(
    [...masks].map(([value, placeholder]) => [
      value,
      placeholder.padEnd(value.length, "*").slice(0, value.length),
    ]),
  );

/** A value and what takes its place, as bytes. */
type Mask = { value: Buffer; placeholder: Buffer };

const asBytes = (masks: Masks): Mask[] =>
  inOrder(masks).map(([value, placeholder]) => ({
    value: Buffer.from(value, "latin1"),
    placeholder: Buffer.from(placeholder, "latin1"),
  }));

function maskedBytes(bytes: Buffer, masks: readonly Mask[]): Buffer {
  let result = bytes;
  for (const { value, placeholder } of masks) {
    let at = result.indexOf(value);
    if (at < 0) continue;
    const parts: Buffer[] = [];
    let from = 0;
    for (; at >= 0; at = result.indexOf(value, from)) {
      parts.push(result.subarray(from, at), placeholder);
      from = at + value.length;
    }
    result = Buffer.concat([...parts, result.subarray(from)]);
  }
  return result;
}

/** The number of bytes at the end that may be the beginning of a value. */
function heldBack(bytes: Buffer, masks: readonly Mask[]): number {
  let most = 0;
  for (const { value } of masks) {
    const [first = 0] = value;
    const from = Math.max(0, bytes.length - value.length + 1);
    for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
      const length = bytes.length - at;
      if (length <= most) break;
      if (bytes.compare(value, 0, length, at) === 0) {
        most = length;
        break;
      }
    }
  }
  return most;
}

/** How long a beginning of a value is held back for the rest of it, before some of it is passed on. */
const kPatienceMs = 10;
/** Bytes of it that are passed on then: texts end with them by chance, and they tell next to nothing. */
const kTelling = 3;

/** The bytes at the beginning of a value that may be passed on: those that the placeholder has as well, or next to none. */
function harmless(value: string, placeholder: string): number {
  let alike = 0;
  while (alike < value.length && value[alike] === placeholder[alike]) alike += 1;
  return Math.max(alike, Math.min(kTelling - 1, value.length));
}

/**
 * Masks a body as it streams. What may be the beginning of a value waits for more: a moment, so that a peer that waits for
 * an answer gets all of this one, and then without the bytes that tell nothing.
 */
export class MaskingStream extends Transform {
  readonly #masks: readonly Mask[];
  readonly #harmless: number;
  /** May be the beginning of a value. */
  #held: Buffer = Buffer.alloc(0);
  /** The bytes of it that were passed on. */
  #passed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(masks: Masks) {
    super();
    this.#masks = asBytes(masks);
    this.#harmless = Math.min(...[...masks].map(([value, mask]) => harmless(value, mask)));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    clearTimeout(this.#timer);
    const all = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const bytes = maskedBytes(all, this.#masks);
    const held = heldBack(bytes, this.#masks);
    const end = bytes.length - held;
    const passed = bytes.subarray(Math.min(this.#passed, end), end);
    // Still the same beginning, or another one.
    if (end > 0) this.#passed = 0;
    this.#held = Buffer.from(bytes.subarray(end));
    if (held > this.#passed) this.#timer = setTimeout(() => this.#passSome(), kPatienceMs);
    done(null, passed);
  }

  #passSome(): void {
    const end = Math.min(this.#held.length, this.#harmless);
    if (end <= this.#passed) return;
    this.push(this.#held.subarray(this.#passed, end));
    this.#passed = end;
  }

  override _flush(done: TransformCallback): void {
    clearTimeout(this.#timer);
    done(null, this.#held.subarray(this.#passed));
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    done(error);
  }
}
