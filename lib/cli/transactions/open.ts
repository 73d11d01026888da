import type { Transaction } from "../../../types/transaction.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import type { RuntimeRunner } from "../../runtime/runtime.js";
import { CliError } from "../terminal.js";
import { directoryOption, type PlaceOptions } from "./transaction-place.js";

/**
 * The transaction that the options ask for, with the policy of the runner; undefined for none.
 * @throws (rejects) as `openTransaction`.
 */
export async function openFor(
  runner: RuntimeRunner,
  options: PlaceOptions & { transaction?: boolean },
): Promise<Transaction | undefined> {
  if (!options.transaction) return undefined;
  if (!(runner instanceof BubblewrapNativeRunner)) {
    throw new CliError("--transaction needs Bubblewrap", 2, "name --runtime bubblewrap");
  }
  return runner.openTransaction(directoryOption(options));
}
