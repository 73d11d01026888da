/** One sandbox for started processes and the commands beside them, so that a command can reach a server. */

import type {
  NativeSpawnInput,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import type { NativeSession } from "../../types/session.js";
import type { Transaction } from "../../types/transaction.js";
import { SandboxError } from "../errors.js";

/** Starts commands. */
export type Commands = Pick<Transaction, "exec" | "spawn" | "openSession">;

/** A session with the runner that it is of. It is closed when nothing uses it. */
type Entry = { commands: Commands; session: Promise<NativeSession>; users: number };

export class SharedSession {
  #entry: Entry | undefined;

  /**
   * Starts a process in the session, which is opened for the first. Where no session is possible, the process
   * has a sandbox of its own.
   */
  async start(commands: Commands, input: NativeSpawnInput): Promise<SandboxProcess> {
    const entry = this.#entryOf(commands);
    entry.users += 1;
    try {
      const session = await entry.session;
      const process = await session.start(input);
      const release = () => this.#release(entry);
      process.result.then(release, release);
      return process;
    } catch (error) {
      this.#release(entry);
      if (!(error instanceof SandboxError) || error.code !== "ERR_SANDBOX_UNAVAILABLE") throw error;
      return commands.spawn(input);
    }
  }

  /** Runs a command beside the started processes; in a sandbox of its own while there are none. */
  async exec(commands: Commands, input: RunnerExecInput): Promise<SandboxedExecResult> {
    const entry = this.#entry;
    if (entry?.commands !== commands) return commands.exec(input);
    entry.users += 1;
    try {
      const session = await entry.session.catch(() => undefined); // `start` reports why
      return await (session ?? commands).exec(input);
    } finally {
      this.#release(entry);
    }
  }

  #entryOf(commands: Commands): Entry {
    if (this.#entry?.commands === commands) return this.#entry;
    const session = commands.openSession({ idleTimeoutMs: Number.POSITIVE_INFINITY });
    const entry: Entry = { commands, session, users: 0 };
    this.#entry = entry;
    const forget = () => {
      if (this.#entry === entry) this.#entry = undefined;
    };
    session.then(({ ended }) => ended.then(forget), forget);
    return entry;
  }

  #release(entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    if (this.#entry === entry) this.#entry = undefined;
    entry.session.then((session) => session.close()).catch(() => {});
  }
}
