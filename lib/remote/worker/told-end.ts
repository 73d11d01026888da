import type { ToCaller } from "../wire/messages.js";
import type { GuestEnd } from "./guest.js";

type End = Extract<ToCaller, { t: "end" }>;

/** In place of results that are longer than a frame may be. */
const kTooLong = {
  value: null,
  rest: [],
  error: {
    name: "RangeError",
    message:
      "it has ended, but its results are too long to be sent: ask for fewer commands at once",
    code: "ERR_OUT_OF_RANGE",
  },
};

/** How a run has ended, as its caller is told, more than once if need be. */
export class ToldEnd {
  readonly #end: Omit<End, "free" | "lease">;
  readonly #body: Buffer;

  constructor({ rest, ...end }: GuestEnd, of: Pick<End, "worker" | "pool" | "run" | "attempt">) {
    const lengths = rest.map(({ length }) => length);
    this.#end = { t: "end", ...of, ...end, value: end.value, rest: lengths };
    this.#body = Buffer.concat(rest);
  }

  /** Bytes of output that go with it. */
  get bytes(): number {
    return this.#body.length;
  }

  /** @param send says whether it is short enough to be sent. */
  say(send: (end: End, body?: Uint8Array) => boolean, slots: Pick<End, "free" | "lease">): void {
    const end = { ...this.#end, ...slots };
    if (!send(end, this.#body)) send({ ...end, ...kTooLong });
  }
}
