import type { NativeExecInput } from "../../../../types/public.js";
import { errorShape } from "../../wire/errors.js";
import { toPlain } from "../../wire/plain.js";
import type { Guest, GuestEnd, Host } from "../guest.js";
import type { RunnerPlace } from "../places.js";

const kNothing = { sent: [0, 0] as [number, number], rest: [] };

/** What would be run, and how: nothing is started. */
export class ExplainGuest implements Guest {
  readonly done: Promise<GuestEnd>;

  constructor(place: Pick<RunnerPlace, "explain">, input: object, host: Host) {
    this.done = this.#run(place, input as NativeExecInput, host);
  }

  abort(): void {}

  receive(): void {}

  async call(operation: string): Promise<unknown> {
    throw new TypeError(`there is no operation ${operation} on what is only explained`);
  }

  async #run(
    place: Pick<RunnerPlace, "explain">,
    input: NativeExecInput,
    host: Host,
  ): Promise<GuestEnd> {
    try {
      host.began();
      return { value: toPlain(await place.explain(input), "explanation"), ...kNothing };
    } catch (error) {
      return { error: errorShape(error), ...kNothing };
    }
  }
}
