/** What a run may use. A figure over the ceiling is refused, not lowered: the caller counts on what it asked. */

import type { NativeLimits } from "../../../../types/public.js";
import type { LimitCeiling } from "../ceiling.js";
import type { AskedLimits } from "../policy-schema.js";
import { Refusal } from "../refusal.js";

/** What a run has that asks for nothing; those that are not here are then not set. As the runner's. */
const kDefaults: Readonly<Partial<Record<keyof LimitCeiling, number>>> = Object.freeze({
  timeoutMs: 60_000,
  maxStdoutBytes: 1024 ** 2,
  maxStderrBytes: 1024 ** 2,
});

const kNames = [
  "timeoutMs",
  "maxStdoutBytes",
  "maxStderrBytes",
  "memoryBytes",
  "cpuSeconds",
  "maxProcesses",
  "maxOpenFiles",
  "maxFileBytes",
] as const satisfies readonly (keyof LimitCeiling)[];

type Most = Partial<Record<keyof LimitCeiling, number | undefined>>;

function overOf(ceiling: Most, asked: Most): Refusal | undefined {
  for (const name of kNames) {
    const most = ceiling[name];
    const wanted = asked[name];
    if (most === undefined || wanted === undefined || wanted <= most) continue;
    return new Refusal(`limits.${name}`, wanted, `at most ${most}`);
  }
  return undefined;
}

/** A run's limits: what it asked for, else the runner's default or the ceiling, whichever is less. */
export function narrowedLimits(
  ceiling: LimitCeiling,
  asked: AskedLimits = {},
): NativeLimits | Refusal {
  const over = overOf(ceiling, asked);
  if (over !== undefined) return over;
  const limits: NativeLimits = asked.keep === undefined ? {} : { keep: asked.keep };
  for (const name of kNames) {
    const least = Math.min(
      kDefaults[name] ?? Number.POSITIVE_INFINITY,
      ceiling[name] ?? Number.POSITIVE_INFINITY,
    );
    const value = asked[name] ?? least;
    if (name === "timeoutMs" || value !== Number.POSITIVE_INFINITY) limits[name] = value;
  }
  return limits;
}

/** The ceiling of a tenant: no figure is over the other's. */
export function lowerLimits(ceiling: LimitCeiling, asked: Most): LimitCeiling | Refusal {
  const over = overOf(ceiling, asked);
  if (over !== undefined) return over;
  const set = Object.entries(asked).filter(([, value]) => value !== undefined);
  return { ...ceiling, ...Object.fromEntries(set) };
}
