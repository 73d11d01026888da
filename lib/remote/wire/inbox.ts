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
   * Gives `take` each frame that is whole now, in order, and `refused` why one was none, or nothing for whoever takes
   * them: what came with it in one message is not lost with it, as where it is of a version that is newer.
   */
  receive(
    message: Uint8Array,
    take: (frame: Frame) => void,
    refused: (why: WireError) => void,
  ): void {
    const each = (work: () => void) => {
      try {
        work();
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        refused(error);
      }
    };
    each(() => {
      for (const frame of decodeFrames(message)) each(() => this.#take(frame, take));
    });
  }

  #take(frame: Frame, take: (frame: Frame) => void): void {
    if ((frame.header as { t?: unknown } | null)?.t !== "piece") {
      take(frame);
      return;
    }
    const whole = this.#add(frame);
    if (whole !== undefined) for (const each of decodeFrames(whole)) take(each);
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
