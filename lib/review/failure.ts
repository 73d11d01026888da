/** Errors of requests, in the form sent to the page. */

import { TransactionError } from "../errors.js";

/** An answer with a status other than 200. */
export class ReviewFailure extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** An error in the form sent to the page. */
export type SentFailure = {
  status: number;
  body: { error: { code: string; message: string; fix?: string; paths?: readonly string[] } };
};

const kRefused = 409;
const kMisuse = 400;
const kFailed = 500;

/** Converts any thrown value to an answer, without a stack. */
export function sentFailure(error: unknown): SentFailure {
  if (error instanceof TransactionError) {
    const { code, message, paths } = error;
    return { status: kRefused, body: { error: { code, message, paths } } };
  }
  const { message, code, fix } = error as Error & { code?: string; fix?: string };
  const status =
    error instanceof ReviewFailure
      ? error.status
      : error instanceof TypeError || error instanceof RangeError
        ? kMisuse
        : kFailed;
  const reported = { code: code ?? "ERR_REVIEW", message, ...(fix && { fix }) };
  return { status, body: { error: reported } };
}
