/** `@openagentic/native-runner/review`: a page on which a person reviews a transaction. */

import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

import type { RunEndMessage } from "../../types/metrics.js";
import type { Transaction } from "../../types/transaction.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { membershipOf } from "../runners/transactions/membership.js";
import { Review } from "./review.js";
import { expectPage, ReviewServer } from "./review-server.js";

/** Options of {@link serveReview}. */
export type ReviewOptions = {
  /** The transaction to review; commands may keep running in it. The page does not close it. */
  transaction: Transaction;
  /** The runner of the transaction, which reads the host's files. */
  runner: BubblewrapNativeRunner;
  /** Port on 127.0.0.1, 0 to 65535. Default 0: any free port. */
  port?: number | undefined;
  /** The page's name for the workspace. Default: none. */
  workspace?: string | undefined;
  /** True offers `undo` from the start, since the transaction was committed before. Default false. */
  canUndo?: boolean | undefined;
  /** True if commands may keep running in it; affects only the page's texts. Default true. */
  isLive?: boolean | undefined;
  /** The approver in the record of the page's commits. Default none. */
  approvedBy?: string | undefined;
  /** Called after each commit, undo or discard on the page; must not throw. */
  onSettled?: ((state: "open" | "discarded" | "closed") => void) | undefined;
};

/** A page that is being served. */
export type ServedReview = AsyncDisposable & {
  /** The page's address with its token: a client that knows it may commit, undo and discard. */
  readonly url: string;
  /** Closes the page; the transaction stays as it is. */
  close(): Promise<void>;
};

const kOptions: FieldsOf<ReviewOptions> = {
  transaction: true,
  runner: true,
  port: true,
  workspace: true,
  canUndo: true,
  isLive: true,
  approvedBy: true,
  onSettled: true,
};
const kRunEnd = "@openagentic/native-runner:run.end";
const kTokenBytes = 32;
const kMostPort = 65_535;

/**
 * Serves a page on which a person sees a transaction's changes, and commits, undoes or discards them. It is reachable
 * only on 127.0.0.1 through the address with its token, and not by other pages in the browser. The page is live:
 * commands may keep running in the transaction.
 *
 * @throws (rejects) TypeError on a wrong option; SandboxError ERR_SANDBOX_UNAVAILABLE if the package was built without
 * its page; an Error of `node:net` if the port is not available
 * @example
 * const review = await serveReview({ transaction, runner });
 * console.log(review.url);
 */
export async function serveReview(options: ReviewOptions): Promise<ServedReview> {
  expectFields(options, "options", kOptions);
  const { transaction, runner, workspace = "", approvedBy, onSettled } = options;
  const { canUndo = false, isLive = true } = options;
  const port = options.port ?? 0;
  if (!Number.isInteger(port) || port < 0 || port > kMostPort) {
    throw invalidValue(`Expected \`port\` to be an integer from 0 to ${kMostPort}, got ${port}`);
  }
  membershipOf(transaction, "transaction");
  if (!(runner instanceof BubblewrapNativeRunner)) {
    throw invalidType("runner", "a BubblewrapNativeRunner", runner);
  }
  if (typeof workspace !== "string") throw invalidType("workspace", "a string", workspace);
  await expectPage();
  const review = new Review({ transaction, host: runner.files, approvedBy, canUndo });
  const { id, backend } = transaction;
  const token = randomBytes(kTokenBytes).toString("base64url");
  const server = new ReviewServer(review, { id, workspace, backend, isLive }, token);
  if (onSettled !== undefined) server.watch(() => onSettled(review.state));
  await server.listen(port);
  const ended = (message: unknown) => {
    if ((message as RunEndMessage).audit?.transaction === id) server.ranCommand();
  };
  subscribe(kRunEnd, ended);
  const close = async () => {
    unsubscribe(kRunEnd, ended);
    await server.close();
  };
  return { url: server.url, close, [Symbol.asyncDispose]: close };
}
