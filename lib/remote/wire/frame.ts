/**
 * What a message holds: one frame or more, each a header and bytes. Both lengths come first, as 32 bits, the
 * highest first; the header is JSON. Pure.
 */

/** A header says by `t` what it is; see messages.ts. */
export type Header = { readonly t: string };

/** One thing that is said. */
export type Frame = { header: unknown; body: Uint8Array };

/** A message that is none. It is dropped and counted by whoever receives it. */
export class WireError extends Error {}

/** A frame is at most this long: arguments and environment have 2 MiB in Linux' own bounds. */
export const kMostFrameBytes = 16 * 1024 ** 2;

const kLength = 4;
const kMostFrames = 10_000;
const kNone = new Uint8Array(0);
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The bytes of one frame: what stands before its body, and the body, which is not copied. */
export function encodeFrame(header: Header, body: Uint8Array = kNone): [Buffer, Uint8Array] {
  const text = JSON.stringify(header);
  const size = Buffer.byteLength(text);
  const head = Buffer.allocUnsafe(kLength + size + kLength);
  head.writeUInt32BE(size, 0);
  head.write(text, kLength);
  head.writeUInt32BE(body.length, kLength + size);
  return [head, body];
}

/** The frames of a message; their bodies are parts of it. @throws WireError */
export function decodeFrames(message: Uint8Array): Frame[] {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const frames: Frame[] = [];
  let at = 0;
  const part = () => {
    if (at + kLength > message.length) throw new WireError("a frame is cut off");
    const length = view.getUint32(at);
    at += kLength;
    if (length > message.length - at) throw new WireError("a frame is longer than its message");
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const header = part();
    frames.push({ header: parsed(header), body: part() });
    if (frames.length > kMostFrames) throw new WireError("a message has too many frames");
  }
  return frames;
}

function parsed(header: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(header));
  } catch (cause) {
    throw new WireError("a header is no JSON", { cause });
  }
}
