/** The ways in which a transaction runs a command: what holds for one of them, holds for each. */

import { expect } from "vitest";

import { whole } from "../support/live-processes.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeExecInput,
  type NativeRunner,
  type SandboxedExecResult,
  type Transaction,
} from "../support/package.js";
import type { RunnerChoice } from "../support/results.js";
import { stateDirectory } from "../support/transactions.js";

/** A transaction, or for comparison the runner itself. */
type Runs = Pick<Transaction, "exec" | "openSession" | "spawn" | "execBatch" | "warm">;

/** One way; `runner` is what the transaction's runner has besides. */
export type Way = {
  runner: Partial<BubblewrapNativeRunnerOptions>;
  exec(runs: Runs, input: NativeExecInput): Promise<SandboxedExecResult>;
};

/** Each command is the second of its session. */
const inSession = (shell: boolean): Way["exec"] => {
  return async (runs, input) => {
    await using session = await runs.openSession({ shell });
    const first = await session.exec({ argv: ["sh", "-c", "exit 3"] });
    expect(first).toMatchObject({ outcome: { kind: "exited" }, exitCode: 3 });
    return await session.exec(input);
  };
};

/** What a live process is given and gives, in the form of a run's. */
async function live(runs: Runs, input: NativeExecInput) {
  const { stdin, limits = {}, ...rest } = input;
  const { maxStdoutBytes: _, maxStderrBytes: __, keep: ___, ...spawnLimits } = limits;
  const running = await runs.spawn({ ...rest, limits: spawnLimits });
  running.stdin.end(stdin);
  const [stdout, stderr, result] = await Promise.all([
    whole(running.stdout),
    running.stderr === null ? "" : whole(running.stderr),
    running.result,
  ]);
  // What could not be started is told in the result itself.
  const bytes = (text: string, reported: Uint8Array) =>
    reported.length > 0 ? reported : new Uint8Array(Buffer.from(text));
  return {
    ...result,
    stdout: bytes(stdout, result.stdout),
    stderr: bytes(stderr, result.stderr),
  };
}

export const kWays: Record<string, Way> = {
  cold: { runner: {}, exec: (runs, input) => runs.exec(input) },
  prewarmed: {
    runner: { prewarm: 1 },
    async exec(runs, input) {
      expect(await runs.warm()).toBe(1);
      const result = await runs.exec(input);
      expect(result.audits[0]?.prewarmed).toBe(true);
      return result;
    },
  },
  "in a session": { runner: {}, exec: inSession(false) },
  "in a shell session": { runner: {}, exec: inSession(true) },
  live: { runner: {}, exec: live },
  "in a batch": {
    runner: {},
    async exec(runs, input) {
      const [, result] = await runs.execBatch([["true"], input]);
      return result as SandboxedExecResult;
    },
  },
  "with Landlock besides": {
    runner: { layers: ["landlock"] },
    exec: (runs, input) => runs.exec(input),
  },
};

/** Each command in a transaction of its own, which stays on disk: the workspace is as it was. */
export class TransactionRunner implements NativeRunner {
  readonly #runner: BubblewrapNativeRunner;
  readonly #way: Way;
  readonly #opened: (transaction: Transaction, directory: string) => void;

  /** @param opened is told of each transaction, with where it is kept. */
  constructor(
    options: RunnerChoice,
    way: Way,
    opened: (transaction: Transaction, directory: string) => void = () => {},
  ) {
    this.#runner = new BubblewrapNativeRunner({ prewarm: 0, ...options, ...way.runner });
    this.#way = way;
    this.#opened = opened;
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    const directory = stateDirectory();
    const transaction = await this.#runner.openTransaction({ directory });
    this.#opened(transaction, directory);
    try {
      return await this.#way.exec(transaction, input);
    } finally {
      await transaction.close();
    }
  }
}
