import type { NativeExecInput, SandboxedExecResult } from "../../../../types/public.js";
import type { BatchOptions } from "../../../../types/session.js";
import { SandboxError } from "../../../errors.js";
import { errorShape } from "../../wire/errors.js";
import type { GuestEnd, Host, Place } from "../guest.js";
import type { StdinBuffer } from "../stdin-buffer.js";
import { CommandGuest } from "./command-guest.js";
import { resultShape } from "./results.js";

/** What a batch is given. */
export type BatchInput = {
  commands: readonly NativeExecInput[];
  options: object;
  /** Bytes of input of each, which comes as one; null: it has none. */
  lengths: readonly (number | null)[];
};

/** Commands one after the other in one sandbox; what they wrote is one stream, with the length of each. */
export class BatchGuest extends CommandGuest {
  readonly done: Promise<GuestEnd>;

  constructor(place: Place, input: BatchInput, stdin: StdinBuffer, host: Host) {
    super("a batch", stdin, host);
    this.done = this.#run(place, input, host);
  }

  async #run(place: Place, input: BatchInput, host: Host): Promise<GuestEnd> {
    const { commands, options, lengths } = input;
    try {
      const stdin = (await this.stdin.whole) ?? new Uint8Array(0);
      let at = 0;
      const inputOf = (length: number | null | undefined) => {
        if (typeof length !== "number") return undefined;
        at += length;
        return stdin.subarray(at - length, at);
      };
      if (place.execBatch === undefined) throw new TypeError("execBatch: a session has none");
      host.began();
      const results = await place.execBatch(
        commands.map((each, index) => ({
          ...each,
          stdin: inputOf(lengths[index]),
          lease: host.lease,
        })),
        { ...(options as BatchOptions), signal: this.signal },
      );
      const value = results.map((result) => this.#told(result));
      const rest = await this.output.rest();
      return { value, ...this.output.told, rest };
    } catch (error) {
      const results = error instanceof SandboxError ? (error.results ?? []) : [];
      const value = { results: results.map((result) => this.#told(result)) };
      const rest = await this.output.rest();
      return { error: errorShape(error), value, ...this.output.told, rest };
    }
  }

  #told(result: SandboxedExecResult): object {
    const { stdout, stderr } = result;
    this.output.push(1, stdout);
    this.output.push(1, stderr);
    return { ...resultShape(result), lengths: [stdout.length, stderr.length] };
  }
}
