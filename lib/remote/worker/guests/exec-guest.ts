import type { NativeExecInput } from "../../../../types/public.js";
import { errorShape } from "../../wire/errors.js";
import type { GuestEnd, Host, Place } from "../guest.js";
import type { StdinBuffer } from "../stdin-buffer.js";
import { CommandGuest } from "./command-guest.js";
import { resultShape } from "./results.js";

/** A command whose output its caller has when it has ended, or as it comes. */
export class ExecGuest extends CommandGuest {
  readonly done: Promise<GuestEnd>;

  constructor(place: Place, input: object, stdin: StdinBuffer, host: Host) {
    super("a command of exec", stdin, host);
    this.done = this.#run(place, input, host);
  }

  async #run(place: Place, input: object, host: Host): Promise<GuestEnd> {
    try {
      const stdin = await this.stdin.whole;
      host.began();
      const streamed = host.isLive && (input as NativeExecInput).limits?.keep !== "head+tail";
      const result = await place.exec({
        ...(input as NativeExecInput),
        ...(stdin !== undefined && { stdin }),
        lease: host.lease,
        signal: this.signal,
        ...(host.isLive && {
          onStdout: (chunk: Uint8Array) => this.output.push(1, chunk),
          onStderr: (chunk: Uint8Array) => this.output.push(2, chunk),
        }),
      });
      const value = resultShape(result);
      if (!streamed) {
        // Pieces that somebody looked at are not what is kept: that goes behind them.
        await this.output.until(() => this.output.hasRoom(1) && this.output.hasRoom(2));
        host.keptFollows();
        this.output.push(1, result.stdout);
        this.output.push(2, result.stderr);
        const rest = await this.output.rest();
        return { value, ...this.output.told, rest };
      }
      const rest = await this.output.rest();
      return { value, ...this.output.told, rest };
    } catch (error) {
      return { error: errorShape(error), ...this.output.told, rest: [] };
    }
  }
}
