/**
 * What a caller gets of what it asks for: all of it, or a Refusal that names the field. Pure. What comes
 * in is what came over the network, so it is checked here, and nothing else of it is looked at.
 */

import type { NativeLimits } from "../../../types/public.js";
import type { Ceiling, LimitCeiling, NarrowableOptions } from "./ceiling.js";
import { checked, type Fault } from "./checked.js";
import { narrowEnvironment } from "./narrow/narrow-environment.js";
import { narrowedLimits } from "./narrow/narrow-limits.js";
import { narrowNetwork } from "./narrow/narrow-network.js";
import { narrowMounts, narrowRoBinds } from "./narrow/narrow-paths.js";
import { type Asked, askedSchema, limitsSchema } from "./policy-schema.js";
import { Refusal } from "./refusal.js";

/** What a runner for the caller is made with, beside the workspace. */
export type RunnerOptionsForCaller = NarrowableOptions & {
  /** The operator's. */
  bwrapPath: string;
};

/** What was let through. */
export type Narrowed = {
  /** For the runner. */
  options: RunnerOptionsForCaller;
  /** For runs that name none of their own. */
  limits: NativeLimits;
};

/** How many sandboxes a runner keeps by itself. */
const kPrewarmedByItself = 4;

const refusalOf = ({ field, got, expected, message }: Fault) =>
  new Refusal(field, got, expected ?? "left out", message);

/** `narrow` takes one of the two, `wide` is the other: the ceiling's, or nothing was asked for. */
function oneOf<Value extends string | boolean>(
  field: string,
  ceiling: Value,
  asked: Value | undefined,
  narrow: Value,
): Value | Refusal {
  if (asked === undefined || asked === ceiling) return ceiling;
  return asked === narrow ? asked : new Refusal(field, asked, JSON.stringify(narrow));
}

function atMost(field: string, most: number, asked: number | undefined): number | Refusal {
  if (asked === undefined) return most;
  return asked <= most ? asked : new Refusal(field, asked, `at most ${most}`);
}

function prewarmOf(ceiling: number | undefined, asked: number | undefined) {
  return asked === undefined ? ceiling : atMost("prewarm", ceiling ?? kPrewarmedByItself, asked);
}

const both = <Value>(ceiling: readonly Value[], asked: readonly Value[] = []) => [
  ...new Set([...ceiling, ...asked]),
];

type Parts = { [Name in keyof NarrowableOptions]-?: NarrowableOptions[Name] | Refusal };

function partsOf(wide: NarrowableOptions, asked: Asked): Parts {
  return {
    network: narrowNetwork(wide.network, asked.network),
    roBinds: narrowRoBinds(wide.roBinds, asked.roBinds),
    mounts: narrowMounts(wide.mounts, asked.mounts, wide.roBinds),
    envPolicy: narrowEnvironment(wide.envPolicy, asked.envPolicy),
    isolation: oneOf("isolation", wide.isolation, asked.isolation, "strict"),
    layers: both(wide.layers, asked.layers),
    required: both(wide.required, asked.required),
    allowWriteWorkspace: oneOf(
      "allowWriteWorkspace",
      wide.allowWriteWorkspace,
      asked.allowWriteWorkspace,
      false,
    ),
    devBind: oneOf("devBind", wide.devBind, asked.devBind, false),
    procBind: oneOf("procBind", wide.procBind, asked.procBind, false),
    clone: oneOf("clone", wide.clone, asked.clone, "never"),
    prewarm: prewarmOf(wide.prewarm, asked.prewarm),
    prewarmIdleMs: atMost("prewarmIdleMs", wide.prewarmIdleMs, asked.prewarmIdleMs),
  };
}

/** The options of the ceiling, narrowed by what is checked already. */
export function narrowOptions(
  wide: NarrowableOptions,
  asked: Omit<Asked, "limits">,
): NarrowableOptions | Refusal {
  const parts = partsOf(wide, asked);
  const refused = Object.values(parts).find((part) => part instanceof Refusal);
  return refused ?? (parts as NarrowableOptions);
}

/** @param asked what came from the caller, unchecked; undefined: nothing is asked for. */
export function narrow(ceiling: Ceiling, asked: unknown = {}): Narrowed | Refusal {
  const read = checked(askedSchema, asked, "options");
  if ("fault" in read) return refusalOf(read.fault);
  const options = narrowOptions(ceiling.options, read.value);
  if (options instanceof Refusal) return options;
  const limits = narrowedLimits(ceiling.limits, read.value.limits);
  if (limits instanceof Refusal) return limits;
  return { options: { ...options, bwrapPath: ceiling.bwrapPath }, limits };
}

/** The limits of one run. @param asked what came from the caller, unchecked. */
export function narrowLimits(ceiling: LimitCeiling, asked: unknown = {}): NativeLimits | Refusal {
  const read = checked(limitsSchema, asked, "limits");
  if (!("fault" in read)) return narrowedLimits(ceiling, read.value);
  const { field, ...fault } = read.fault;
  const place = field === "" ? "limits" : `limits.${field}`;
  const message = fault.message.replace(`\`${field}\``, `\`${place}\``);
  return refusalOf({ ...fault, field: place, message });
}
