import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import type { RunnerOptionsForCaller } from "../policy/narrow.js";
import type { ExchangePort } from "../workspace/exchange.js";
import { WorkerWorkspaces } from "../workspace/worker-workspaces.js";
import type { Granted, RunnerPlace } from "./places.js";

/** Workspaces that callers send, each for one run, in a transaction whose changes go back. */
export class MovedPlaces {
  readonly #root: string;
  readonly #maxBytes: number | undefined;
  #workspaces: Promise<WorkerWorkspaces> | undefined;

  /**
   * @param root made when a workspace comes.
   * @param maxBytes of all files there, an integer > 0; undefined: 16 GiB.
   */
  constructor(root: string, maxBytes: number | undefined) {
    this.#root = root;
    this.#maxBytes = maxBytes;
  }

  async accept(
    tenant: string,
    options: RunnerOptionsForCaller,
    port: ExchangePort,
  ): Promise<Omit<Granted, "bounded">> {
    const visit = await (await this.#open()).accept(tenant, port);
    const runner = new BubblewrapNativeRunner({
      ...options,
      shadowDir: visit.directory,
      prewarm: 0,
      clone: "never",
    });
    try {
      const transaction = await runner.openTransaction({ directory: visit.transactions });
      return {
        place: transaction as unknown as RunnerPlace,
        finish: async () => {
          await visit.settle(transaction).catch(() => {}); // the caller was told, or is gone
          await runner.close();
        },
        release: () => {},
      };
    } catch (error) {
      await runner.close();
      await visit.abandon(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /** Not to be called while runs go on. */
  async close(): Promise<void> {
    await (await this.#workspaces?.catch(() => undefined))?.close();
  }

  #open(): Promise<WorkerWorkspaces> {
    this.#workspaces ??= WorkerWorkspaces.open(this.#root, { maxBytes: this.#maxBytes }).catch(
      (error) => {
        this.#workspaces = undefined; // who had it may be gone the next time
        throw error;
      },
    );
    return this.#workspaces;
  }
}
