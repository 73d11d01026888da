import * as v from "valibot";
import { decodeFrames, type Frame, kMostFrameBytes, WireError } from "./frame.js";

const kPiece = v.object({
  t: v.literal("piece"),
  from: v.pipe(v.string(), v.maxLength(200)),
  piece: v.number(),
  at: v.pipe(v.number(), v.integer(), v.minValue(0)),
  isLast: v.boolean(),
});

/** Frames that are there in part, of all senders; those that wait longest give way, as their senders may be gone. */
const kMostPartial = 64;
const kMostPartialBytes = 64 * 1024 ** 2;

type Partial = { piece: number; bytes: number; parts: Uint8Array[] };

/**
 * What others have said: takes messages apart, and puts together what came in pieces. Bounded, whatever is sent.
 */
export class Inbox {
  readonly #partial = new Map<string, Partial>();

  /**
   * The frames that are whole now, in order.
   * @throws WireError for what is no message.
   */
  receive(message: Uint8Array): Frame[] {
    return decodeFrames(message).flatMap((frame) => {
      if ((frame.header as { t?: unknown } | null)?.t !== "piece") return [frame];
      const whole = this.#add(frame);
      return whole === undefined ? [] : decodeFrames(whole);
    });
  }

  #add({ header, body }: Frame): Uint8Array | undefined {
    const { success, output } = v.safeParse(kPiece, header);
    if (!success) throw new WireError("a piece of a frame is none");
    const { from, piece, at, isLast } = output;
    const before = this.#partial.get(from);
    this.#partial.delete(from);
    if (at > 0 && before?.piece !== piece) {
      throw new WireError("a piece of a frame is not the next one");
    }
    const partial = at === 0 || before === undefined ? { piece, bytes: 0, parts: [] } : before;
    if (partial.bytes !== at) throw new WireError("a piece of a frame is missing");
    if (at + body.length > kMostFrameBytes) throw new WireError("a frame is too long");
    partial.parts.push(body);
    partial.bytes += body.length;
    if (isLast) return Buffer.concat(partial.parts);
    this.#partial.set(from, partial);
    this.#dropOldest();
    return undefined;
  }

  #dropOldest(): void {
    let bytes = 0;
    for (const partial of this.#partial.values()) bytes += partial.bytes;
    for (const [from, partial] of this.#partial) {
      if (this.#partial.size <= kMostPartial && bytes <= kMostPartialBytes) return;
      this.#partial.delete(from);
      bytes -= partial.bytes;
    }
  }
}
