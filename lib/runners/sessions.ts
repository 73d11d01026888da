/** The sessions of one runner, which end with it. */

import type { NativeAddon, SessionHandle } from "../../types/addon.js";
import type { NativeExecInput, SandboxedExecResult } from "../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../types/session.js";
import { invalidType, SandboxError } from "../errors.js";
import type { RunMeter } from "../metrics/run-meter.js";
import { checkSignal } from "./abort.js";
import { copyOptions } from "./options.js";
import { Session } from "./session.js";

type Make = (addon: NativeAddon, options: SessionOptions) => SessionHandle;

const kAborted = AbortSignal.abort();

/** What ends a batch that is to stop on errors. */
const hasFailed = (result: SandboxedExecResult) =>
  result.outcome.kind !== "exited" || result.exitCode !== 0;

export class Sessions {
  readonly #make: Make;
  readonly #meter: RunMeter;
  readonly #open = new Set<Promise<Session>>();
  #isClosed = false;

  /** @param meter the runner's. */
  constructor(make: Make, meter: RunMeter) {
    this.#make = make;
    this.#meter = meter;
  }

  async open(options: SessionOptions = {}): Promise<NativeSession> {
    return this.#openOne(options);
  }

  async #openOne(options: SessionOptions): Promise<Session> {
    if (this.#isClosed) {
      throw new SandboxError("the runner was closed", { code: "ERR_SANDBOX_CLOSED" });
    }
    const own = copyOptions(options);
    const opening = Session.open((addon) => this.#make(addon, own), this.#meter);
    this.#open.add(opening);
    const forget = () => this.#open.delete(opening);
    opening.then((session) => session.ended.then(forget), forget);
    return opening;
  }

  /** Ends all of them; no other is opened any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const ends = [...this.#open].map(async (opening) => (await opening).close());
    await Promise.allSettled(ends);
  }

  /** See `BubblewrapNativeRunner.execBatch`. */
  async execBatch(
    commands: readonly (NativeExecInput | string[])[],
    options: BatchOptions = {},
  ): Promise<SandboxedExecResult[]> {
    if (!Array.isArray(commands)) throw invalidType("commands", "an array", commands);
    const { stopOnError = false, signal, ...rest } = copyOptions(options);
    if (typeof stopOnError !== "boolean") {
      throw invalidType("stopOnError", "a boolean", stopOnError);
    }
    const abort = checkSignal(signal);
    const inputs = commands.map((command) =>
      Array.isArray(command) ? { argv: [...command] } : { ...command },
    );
    await using session = await this.#openOne(rest);
    for (const input of inputs) await session.check(input); // misuse: nothing has run yet
    const results: SandboxedExecResult[] = [];
    let isOver = false;
    for (const input of inputs) {
      const own = input.signal;
      const either =
        abort === undefined || own === undefined ? (own ?? abort) : AbortSignal.any([own, abort]);
      const result = await session.exec({ ...input, signal: isOver ? kAborted : either });
      results.push(result);
      isOver ||= abort?.aborted === true || (stopOnError && hasFailed(result));
    }
    return results;
  }
}
