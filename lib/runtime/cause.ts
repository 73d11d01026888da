/** Why something is not available, as what was thrown. */

/** Something that may have a cause. It is not enumerable: reports are printed and compared. */
export type WithCause = {
  /** What was thrown, where that is why; not enumerable. */
  readonly cause?: unknown;
};

/** The same object, with the cause where there is one. */
export function withCause<Value extends object>(value: Value, cause: unknown): Value & WithCause {
  return cause === undefined ? value : Object.defineProperty(value, "cause", { value: cause });
}

/** The cause of several failures: their one, or all of them; undefined where nothing was thrown. */
export function commonCause(failures: readonly WithCause[]): unknown {
  const causes = failures.flatMap(({ cause }) => (cause === undefined ? [] : [cause]));
  return causes.length > 1 ? new AggregateError(causes, "several runtimes failed") : causes[0];
}
