/** What the addon is given of a call's input: each field read once. */

import type { NativeRequest, NativeSpawnRequest } from "../../types/addon.js";
import type { NativeExecInput, NativeSpawnInput } from "../../types/public.js";
import { invalidValue } from "../errors.js";
import { unknownField } from "../fields.js";
import type { Callbacks } from "./abort.js";
import { leaseHandle } from "./lease.js";

/** The request with all else that the input has, so that the addon, which knows the fields, refuses it. */
function withUnknown<Request extends object>(request: Request, input: object): Request {
  for (const name of Object.keys(input)) {
    if (name === "signal" || Object.hasOwn(request, name)) continue;
    Object.defineProperty(request, name, {
      value: (input as Record<string, unknown>)[name],
      enumerable: true,
    });
  }
  return request;
}

/** For `exec`, with callbacks that can't throw into the addon. */
export function requestOf(input: NativeExecInput, callbacks: Callbacks): NativeRequest {
  const request = {
    argv: input.argv,
    cwd: input.cwd,
    env: input.env,
    stdin: input.stdin,
    stderr: input.stderr,
    limits: input.limits,
    lease: leaseHandle(input.lease),
    explain: input.explain,
    onStdout: callbacks.wrap(input.onStdout, "onStdout"),
    onStderr: callbacks.wrap(input.onStderr, "onStderr"),
  };
  return withUnknown(request, input);
}

/** What exec has and a live process has in another form: taken silently, it would do nothing. */
const kNotForSpawn: readonly [string, string][] = [
  ["stdin", "write to the process' stdin"],
  ["onStdout", "read the process' stdout"],
  ["onStderr", "read the process' stderr"],
];
const kNoLimitOfSpawn: readonly string[] = ["maxStdoutBytes", "maxStderrBytes", "keep"];
const kSpawnFields: readonly string[] = [
  "argv",
  "cwd",
  "env",
  "limits",
  "lease",
  "explain",
  "pty",
  "stderr",
  "signal",
];

/** For `spawn`. @throws TypeError for what only exec has. */
export function spawnRequestOf(input: NativeSpawnInput): NativeSpawnRequest {
  const given = input as Record<string, unknown>;
  for (const [field, instead] of kNotForSpawn) {
    if (given[field] !== undefined) {
      throw invalidValue(`Expected \`${field}\` to be left out with spawn: ${instead}`);
    }
  }
  // What the addon would take for ours.
  if (given.onEvent !== undefined) throw unknownField("onEvent", "input", kSpawnFields);
  const { argv, cwd, env, limits, explain, pty, stderr } = input;
  const limitsGiven = Object(limits) as Record<string, unknown>;
  for (const field of kNoLimitOfSpawn) {
    if (limitsGiven[field] !== undefined) {
      const why = "nothing is kept of the output";
      throw invalidValue(`Expected \`limits.${field}\` to be left out with spawn: ${why}`);
    }
  }
  const lease = leaseHandle(input.lease);
  return withUnknown({ argv, cwd, env, limits, lease, explain, pty, stderr }, input);
}
