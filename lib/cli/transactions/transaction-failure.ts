/** Why a commit, or taking one back, was refused, in the words of the command line. Pure. */

import type { TransactionError } from "../../runners/transactions/transaction-error.js";
import { kConflict, kProtected } from "./exit-codes.js";
import { visibleLine } from "./visible-text.js";

/** For standard error, and for programs. */
export type Refusal = {
  message: string;
  fix: string;
  exitCode: number;
  json: { code: string; message: string; paths: readonly string[] };
};

/**
 * @param what how the command line names the transaction: its id, and where it is.
 * @param isUndo of an undo; else of a commit.
 */
export function refusalOf(error: TransactionError, what: string, isUndo = false): Refusal {
  const { code, message, paths } = error;
  const named = paths.map((path) => `\n  ${visibleLine(path)}`).join("");
  const json = { code, message, paths };
  const commit = `\`native-runner tx commit ${what}`;
  if (code === "ERR_TRANSACTION_PROTECTED") {
    return {
      message: `nothing was committed: code of this host runs by itself what would be changed:${named}`,
      fix: `look at it; ${commit} --allow-protected PATH\` allows it, --paths PATH commits others`,
      exitCode: kProtected,
      json,
    };
  }
  if (isUndo) {
    return {
      message: `nothing was undone: this has been changed since the commit:${named}`,
      fix: "what the files were is in commit/aside of the transaction's directory",
      exitCode: kConflict,
      json,
    };
  }
  return {
    message: `conflict, nothing was committed: the host has changed this too:${named}`,
    fix: `${commit} --paths PATH\` commits others; \`native-runner tx diff ${what}\` shows what to bring together by hand`,
    exitCode: kConflict,
    json,
  };
}
