/** Warnings for the operator: each text once for each Node environment. */

const given = new Set<string>();

/** Codes of the process warnings. */
export type RuntimeWarningCode = "OPENAGENTIC_NATIVE_RUNTIME" | "OPENAGENTIC_RUNTIME_CONFIG";

/** Gives a process warning, and tells `warn` each time. */
export function warnOnce(
  message: string,
  code: RuntimeWarningCode,
  warn?: ((message: string) => void) | undefined,
): void {
  warn?.(message);
  if (given.has(message)) return;
  given.add(message);
  process.emitWarning(message, { type: "SandboxWarning", code });
}
