/** What ends the demo, or one turn of it, with a message for people instead of a stack trace. */
export class Failure extends Error {
  /**
   * @param {string} message
   * @param {{ exitCode?: number, cause?: unknown }} [options] `exitCode` of the process, default 1
   */
  constructor(message, { exitCode = 1, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "Failure";
    this.exitCode = exitCode;
  }
}

/**
 * The `code` of a system error, such as "ENOENT".
 * @param {unknown} error
 */
export function codeOf(error) {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}
