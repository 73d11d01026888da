/** Whether what a run is asked for with can be sent: known before anything is, and by the field that is too long. Pure. */

import { kMostFrameBytes } from "../wire/frame.js";

/** Of a frame, for what is not the caller's own: numbers, names of fields. */
const kRoom = 64 * 1024;
export const kMostRequestBytes = kMostFrameBytes - kRoom;
/** A character of JSON has at most so many bytes: "\u001f". */
const kLongest = 6;

/** Characters of all texts in it, at least. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8; // a number, nearly always
  let sum = 2;
  for (const [name, each] of Object.entries(value)) sum += name.length + 4 + charactersOf(each);
  return sum;
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? "");

/**
 * @param all by name, as they are sent; `input` for what its fields are.
 * @param more bytes that go with them.
 * @throws RangeError that names the longest field.
 */
export function expectSendable(all: Readonly<Record<string, unknown>>, more: number): void {
  const { input, ...rest } = all;
  const fields = Object.entries({ ...(input as object), ...rest });
  const characters = fields.reduce((sum, [, value]) => sum + charactersOf(value), more);
  if (characters * kLongest <= kMostRequestBytes) return;
  const sizes = fields.map(([name, value]) => ({ name, bytes: bytesOf(value) }));
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, more);
  if (total <= kMostRequestBytes) return;
  const { name, bytes } = sizes.reduce((most, each) => (each.bytes > most.bytes ? each : most));
  const most = kMostRequestBytes - (total - bytes);
  const error = new RangeError(
    `Expected \`${name}\` to have at most ${most} bytes as it is sent to a worker, got ${bytes}`,
  );
  throw Object.assign(error, { code: "ERR_OUT_OF_RANGE" });
}
