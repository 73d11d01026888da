/** Options of `RemoteNativeRunner` as they go to workers. Pure. */

import { isAbsolute } from "node:path";

import type {
  RemoteNativeRunnerOptions,
  RemoteWorkspace,
} from "../../../types/remote/runner-options.js";
import { invalidType, invalidValue } from "../../errors.js";
import { toPlain } from "../wire/plain.js";
import { MovedWorkspace } from "../workspace/moved-workspace.js";
import type { PlaceOptions } from "./remote-place.js";

const kQueueTimeoutMs = 60_000;

export function queueTimeoutOf(value: unknown = kQueueTimeoutMs): number {
  if (typeof value !== "number") throw invalidType("queueTimeoutMs", "a number > 0", value);
  if (value > 0) return value;
  const error = new RangeError(`Expected \`queueTimeoutMs\` to be > 0, got ${value}`);
  throw Object.assign(error, { code: "ERR_OUT_OF_RANGE" });
}

/** What is asked of the worker's policy. @throws TypeError for what can't be asked from here. */
export function policyOf(options: RemoteNativeRunnerOptions): unknown {
  const { roBinds, mounts, network, isolation, envPolicy } = options;
  const { devBind, procBind, allowWriteWorkspace, layers, required } = options;
  if (typeof network === "object" && network !== null && network.onRequest !== undefined) {
    throw invalidValue("`network.onRequest` can't be asked by a worker: name hosts in `allow`");
  }
  return toPlain(
    {
      roBinds,
      mounts,
      network,
      isolation,
      envPolicy,
      devBind,
      procBind,
      allowWriteWorkspace,
      layers,
      required,
    },
    "options",
  );
}

/** @throws TypeError unless it is a path, or a directory to be moved. */
export function workspaceOf(workspace: RemoteWorkspace): Pick<PlaceOptions, "workspace" | "moved"> {
  if (typeof workspace !== "object" || workspace === null) {
    return { workspace: absolute("workspace", workspace) };
  }
  absolute("workspace.directory", workspace.directory);
  return { workspace: { isMoved: true }, moved: new MovedWorkspace(workspace) };
}

function absolute(field: string, value: unknown): string {
  if (typeof value !== "string") throw invalidType(field, "an absolute path", value);
  if (isAbsolute(value) && !value.includes("\0")) return value;
  throw invalidValue(`Expected \`${field}\` to be an absolute path, got ${JSON.stringify(value)}`);
}
