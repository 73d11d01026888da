/** Makes of a permission that the broker refuses an error that names the pool, the tenant or the worker. Pure. */

import { SandboxError } from "../../errors.js";

/** A permissions violation, as the broker reports it. */
export type Refused = { operation: "publish" | "subscription"; subject: string };

/** Reads a client's error; undefined for another kind of error. */
export function refusedOf(error: unknown): Refused | undefined {
  const { name, operation, subject } = (error ?? {}) as Record<string, unknown>;
  if (name !== "PermissionViolationError" || typeof subject !== "string") return undefined;
  return { operation: operation === "subscription" ? operation : "publish", subject };
}

function refusal(what: string, { operation, subject }: Refused, fix: string): SandboxError {
  const done = operation === "publish" ? "publish to" : "subscribe to";
  return new SandboxError(
    `the broker does not let this key ${what}: it may not ${done} ${subject}`,
    {
      code: "ERR_SANDBOX_UNAVAILABLE",
      fix,
    },
  );
}

/** True for a permission that a worker needs to be operated, and not to serve. */
export function isOfOperators({ subject }: Refused): boolean {
  return ["list", "op", "o"].includes(subject.split(".")[1] ?? "");
}

/** Returns the error for an operator. */
export function operatorRefusal(refused: Refused, operator: string): SandboxError {
  const what = `operate workers as the operator "${operator}"`;
  const fix =
    "give the key that `broker-config --operator NAME` made, and its name with --operator";
  return refusal(what, refused, fix);
}

/** Returns the error for a worker. It can't work then. */
export function workerRefusal(
  refused: Refused,
  { pool, name }: { pool: string; name: string },
): SandboxError {
  const what = `serve the pool "${pool}" as the worker "${name}"`;
  const fix = "give it the key that `broker-config --worker POOL/NAME` made for this pool and name";
  return refusal(what, refused, fix);
}

/** Returns the error for a caller, and the pool that it is about; undefined: all of the tenant's runs. */
export function callerRefusal(
  refused: Refused,
  tenant: string,
): { error: SandboxError; pool: string | undefined } {
  const [, kind, pool] = refused.subject.split(".");
  const isOfPool = refused.operation === "publish" && kind !== "c" && pool !== undefined;
  const where = isOfPool ? ` in the pool "${pool}"` : "";
  const fix = "check `tenant`, `pool` and `credentials`: `broker-config --tenant` made the key";
  const error = refusal(`run commands for the tenant "${tenant}"${where}`, refused, fix);
  return { error, pool: isOfPool ? pool : undefined };
}
