/** What a sandbox promises, it promises in a transaction. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { describePromises } from "../promises/promises.js";
import { describeSandboxed } from "../support/gate.js";
import {
  BubblewrapNativeRunner,
  type NativeExecInput,
  type NativeRunner,
  type SandboxedExecResult,
} from "../support/package.js";
import type { RunnerChoice } from "../support/seen.js";
import { stateDirectory } from "../support/transactions.js";

/** What is changed in each transaction: what is made in one shows there alone. */
const kUppers: string[] = [];

/** Each run in a transaction of its own, which stays on disk: the workspace is as it was. */
class TransactionRunner implements NativeRunner {
  readonly #runner: BubblewrapNativeRunner;

  constructor(options: RunnerChoice) {
    this.#runner = new BubblewrapNativeRunner({ ...options, prewarm: 0 });
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    const directory = stateDirectory();
    const transaction = await this.#runner.openTransaction({ directory });
    kUppers.push(join(directory, transaction.id, "upper"));
    try {
      return await transaction.exec(input);
    } finally {
      await transaction.close();
    }
  }
}

describePromises(
  "bubblewrap",
  (options) => new TransactionRunner(options),
  (_, body) => describeSandboxed("in a transaction", body),
  // The overlay's socket is another than the host's.
  ["reaches a socket that the host keeps in the workspace"],
  (_, path) => kUppers.some((upper) => existsSync(join(upper, path))),
);
