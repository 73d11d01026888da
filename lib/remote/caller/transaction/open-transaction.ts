/** How transactions on workers are opened, taken up again, and listed. */

import type { Transaction } from "../../../../types/transaction.js";
import type {
  ListedTransaction,
  ResumeOptions,
  TransactionOptions,
} from "../../../../types/transaction-options.js";
import { invalidValue } from "../../../errors.js";
import { expectFields, type FieldsOf } from "../../../fields.js";
import { checkSignal, onAbort } from "../../../runners/abort.js";
import { toPlain } from "../../wire/plain.js";
import type { RemotePlace } from "../remote-place.js";
import { RemoteTransaction } from "./remote-transaction.js";
import { parseRemoteId, remoteId } from "./transaction-id.js";

const kResume: FieldsOf<ResumeOptions> = { directory: true, backend: true };
const kOpen: FieldsOf<TransactionOptions> = {
  ...kResume,
  maxBytes: true,
  onProgress: true,
  signal: true,
};

function refuse(options: { directory?: unknown; onProgress?: unknown }): void {
  if (options.directory !== undefined) {
    throw invalidValue("`directory` is the worker's own, and can't be given from elsewhere");
  }
  if (options.onProgress === undefined) return;
  throw invalidValue("`onProgress` can't be called by a worker");
}

/** See `RemoteNativeRunner.openTransaction`. */
export async function openTransaction(
  place: RemotePlace,
  options: TransactionOptions,
): Promise<Transaction> {
  expectFields(options, "options", kOpen);
  refuse(options);
  const { backend, maxBytes } = options;
  const signal = checkSignal(options.signal);
  signal?.throwIfAborted();
  const input = { way: "open", options: toPlain({ backend, maxBytes }, "options") };
  const abort = new AbortController();
  const unsubscribe = onAbort(signal, () => abort.abort());
  try {
    return await RemoteTransaction.open(place, { input }, abort.signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    unsubscribe();
  }
}

/** See `RemoteNativeRunner.resumeTransaction`. */
export async function resumeTransaction(
  place: RemotePlace,
  given: string,
  options: ResumeOptions,
): Promise<Transaction> {
  expectFields(options, "options", kResume);
  refuse(options);
  const { id, name } = parseRemoteId(given);
  const { backend } = options;
  const input = { way: "resume", id, options: toPlain({ backend }, "options") };
  return RemoteTransaction.open(place, { input, onWorker: name });
}

/** See `RemoteNativeRunner.transactions`. */
export async function listTransactions(place: RemotePlace): Promise<ListedTransaction[]> {
  const { value, worker } = await place.answer("transaction", { input: { way: "list" } });
  const listed = value as ListedTransaction[];
  return listed.map((each) => ({ ...each, id: remoteId(each.id, worker) }));
}
