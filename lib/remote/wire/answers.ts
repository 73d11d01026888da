/**
 * Answers of any length: one that is too long for a frame is kept by who gives it, and asked for piece by piece.
 */

import { fromPlain, toPlain } from "./plain.js";

/** Characters of JSON in one piece. Each may be three bytes of UTF-8; a frame has 16 MiB. */
const kPiece = 4 * 1024 ** 2;
/** Characters of what is asked for; as above. */
const kMostAsked = 4 * 1024 ** 2;
/** Answers that are kept, for callers that ask for several at once. */
const kMostKept = 4;

/** The operation by which pieces are asked for. */
export const kPieceOperation = "piece";

type Whole = { whole: unknown };
type InPieces = { answer: number; pieces: number };

/** Those of one run. */
export class LongAnswers {
  readonly #kept = new Map<number, string>();
  #answers = 0;

  /** What is answered. */
  answer(value: unknown): Whole | InPieces {
    const whole = value === undefined ? null : toPlain(value, "answer");
    const text = JSON.stringify(whole);
    if (text.length <= kPiece) return { whole };
    const answer = ++this.#answers;
    this.#kept.set(answer, text);
    for (const [oldest] of this.#kept) if (this.#kept.size > kMostKept) this.#kept.delete(oldest);
    return { answer, pieces: Math.ceil(text.length / kPiece) };
  }

  /** One piece; with the last it is forgotten. @throws TypeError where there is none */
  piece(answer: unknown, index: unknown): string {
    const text = this.#kept.get(Number(answer));
    const at = Number(index) * kPiece;
    if (text === undefined || !(at >= 0 && at < text.length)) {
      throw new TypeError("there is no such piece of an answer");
    }
    if (at + kPiece >= text.length) this.#kept.delete(Number(answer));
    return text.slice(at, at + kPiece);
  }
}

/** An operation of the other side. */
export type Ask = (operation: string, args: readonly unknown[]) => Promise<unknown>;

/** Asks for an operation, and for all pieces of its answer. @throws RangeError for what is too long to be sent */
export async function askWhole(
  ask: Ask,
  operation: string,
  args: readonly unknown[],
): Promise<unknown> {
  const size = JSON.stringify(args.map((each) => toPlain(each ?? null, operation))).length;
  if (size > kMostAsked) {
    const message = `${operation}: what it is given has more than ${kMostAsked} bytes when it is sent`;
    throw Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
  }
  const told = (await ask(operation, args)) as Whole | InPieces;
  if ("whole" in told) return told.whole;
  let text = "";
  for (let index = 0; index < told.pieces; index += 1) {
    text += await ask(kPieceOperation, [told.answer, index]);
  }
  return fromPlain(JSON.parse(text));
}
