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
  /** What is reviewed; it may go on meanwhile. The page does not close it. */
  transaction: Transaction;
  /** Of whom it is: the host's files are read by this runner. */
  runner: BubblewrapNativeRunner;
  /** Where the page is served on 127.0.0.1, 0 to 65535. Default 0: any port that is free. */
  port?: number | undefined;
  /** What the page calls the workspace. Default: nothing. */
  workspace?: string | undefined;
  /** Whether `undo` is offered from the start: it was committed before. Default false. */
  canUndo?: boolean | undefined;
  /** Whether commands may go on in it, for the page's words alone. Default true. */
  isLive?: boolean | undefined;
  /** Who is said to have approved what is committed on the page, in its record. Default nobody. */
  approvedBy?: string | undefined;
  /** Called after each commit, undo or discard on the page; must not throw. */
  onSettled?: ((state: "open" | "discarded" | "closed") => void) | undefined;
};

/** A page that is served. */
export type ServedReview = AsyncDisposable & {
  /** The page's address. It has a token: whoever knows it may commit, undo and discard. */
  readonly url: string;
  /** Ends the page; the transaction stays as it is. */
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
 * Serves a page on which a person sees what a transaction has changed, and commits, undoes or discards it.
 * Only on 127.0.0.1, for who has the address with its token, and for no other page of the browser.
 * It is live: commands may go on in the transaction.
 *
 * @throws (rejects) TypeError on a wrong option; SandboxError ERR_SANDBOX_UNAVAILABLE where the package
 * has no page; an Error of `node:net` where the port can't be had.
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
