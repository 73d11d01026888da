import type { SessionHandle } from "../../types/addon.js";
import type {
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
  WaitForPortOptions,
} from "../../types/public.js";
import type { NativeSession, SessionShare } from "../../types/session.js";
import { fromNative, SandboxError } from "../errors.js";
import { checkSignal } from "./abort.js";
import { waitForPort } from "./port-wait.js";
import type { Supervised } from "./supervised.js";

const kShared: readonly SessionShare[] = Object.freeze([
  "workspace",
  "tmp",
  "network",
  "ipc",
  "process-list",
  "terminals",
  "limits",
]);
const kSharedWithSignals: readonly SessionShare[] = Object.freeze([...kShared, "signals"]);

function hasEnded(reason: string): SandboxError {
  return new SandboxError(`the session has ended: ${reason}`, {
    code: "ERR_SANDBOX_CLOSED",
    fix: "open another one",
  });
}

/** One session; made by {@link open}. One that nobody refers to any more is collected, and ended. */
export class Session implements NativeSession {
  readonly layers: readonly string[];
  readonly shares: readonly SessionShare[];
  readonly ended: Promise<string>;
  readonly #supervised: Supervised<SessionHandle>;
  /** Apart from the session, which `ended` would keep alive. */
  readonly #end: { reason: string | undefined } = { reason: undefined };

  private constructor(
    supervised: Supervised<SessionHandle>,
    layers: readonly string[],
    ended: Promise<string>,
  ) {
    this.#supervised = supervised;
    this.layers = Object.freeze([...layers]);
    this.shares = layers.includes("command-separation") ? kShared : kSharedWithSignals;
    this.ended = ended;
    const end = this.#end;
    void ended.then((reason) => {
      end.reason = reason;
    });
  }

  /** @throws (rejects) {@link SandboxError} where there can be none. */
  static async open(supervised: Supervised<SessionHandle>): Promise<Session> {
    try {
      const { opened, ended } = supervised.handle.open();
      return new Session(supervised, await opened, ended);
    } catch (error) {
      throw fromNative(error);
    }
  }

  get isOpen(): boolean {
    return this.#end.reason === undefined;
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    this.#expectOpen();
    return this.#supervised.exec(input);
  }

  async start(input: NativeSpawnInput): Promise<SandboxProcess> {
    this.#expectOpen();
    return this.#supervised.spawn(input);
  }

  async waitForPort(port: number, options: WaitForPortOptions = {}): Promise<void> {
    this.#expectOpen();
    const { handle } = this.#supervised;
    await waitForPort(handle, 0, port, options, async () => hasEnded(await this.ended));
  }

  /** Throws what `exec` would reject with for this input before it starts anything. */
  async check(input: NativeExecInput): Promise<void> {
    this.#expectOpen();
    await this.#supervised.explain(input);
    checkSignal(input.signal);
  }

  async close(): Promise<void> {
    this.#end.reason ??= "it was closed";
    await this.#supervised.close();
    await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #expectOpen(): void {
    const { reason } = this.#end;
    if (reason !== undefined) throw hasEnded(reason);
  }
}
