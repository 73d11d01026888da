import type { NativeAddon, SessionHandle } from "../../types/addon.js";
import type {
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import type { NativeSession, SessionShare } from "../../types/session.js";
import { fromNative } from "../errors.js";
import type { RunMeter } from "../metrics/run-meter.js";
import { Supervised } from "./supervised.js";

const kShared: readonly SessionShare[] = Object.freeze([
  "workspace",
  "tmp",
  "network",
  "ipc",
  "process-list",
  "terminals",
]);
const kSharedWithSignals: readonly SessionShare[] = Object.freeze([...kShared, "signals"]);

/** One session; made by {@link open}. */
export class Session implements NativeSession {
  readonly layers: readonly string[];
  readonly shares: readonly SessionShare[];
  readonly ended: Promise<string>;
  readonly #supervised: Supervised<SessionHandle>;
  #isOpen = true;

  private constructor(
    supervised: Supervised<SessionHandle>,
    layers: readonly string[],
    ended: Promise<string>,
  ) {
    this.#supervised = supervised;
    this.layers = Object.freeze([...layers]);
    this.shares = layers.includes("command-separation") ? kShared : kSharedWithSignals;
    this.ended = ended;
    void ended.then(() => {
      this.#isOpen = false;
    });
  }

  /**
   * Opens the session that `make` makes the handle of; `meter` counts its commands.
   * @throws (rejects) TypeError or RangeError on a wrong option, {@link SandboxError} where there can
   * be none.
   */
  static async open(
    make: (addon: NativeAddon) => SessionHandle,
    meter: RunMeter,
  ): Promise<Session> {
    try {
      const supervised = new Supervised(make, meter);
      const { opened, ended } = supervised.handle.open();
      return new Session(supervised, await opened, ended);
    } catch (error) {
      throw fromNative(error);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    return this.#supervised.exec(input);
  }

  async start(input: NativeSpawnInput): Promise<SandboxProcess> {
    return this.#supervised.spawn(input);
  }

  /** Throws what `exec` would reject with for this input before it starts anything. */
  async check(input: NativeExecInput): Promise<void> {
    await this.#supervised.explain(input);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#supervised.close();
    await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
