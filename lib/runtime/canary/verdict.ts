/** Whether a runtime that flew a canary may be called available. Pure. */

import { type CanaryProbe, kProbeTitles } from "./probe.js";

/** Why not; undefined when every probe was refused, granted by the policy or ruled out by a layer. */
export function whyBroken(probes: readonly CanaryProbe[]): string | undefined {
  const titles = (verdict: CanaryProbe["verdict"]) =>
    probes.filter((probe) => probe.verdict === verdict).map(({ name }) => kProbeTitles[name]);
  const reached = titles("reached");
  if (reached.length > 0) {
    return `it does not confine: a test command could ${reached.join(", and ")}`;
  }
  const unproved = probes.filter((probe) => probe.verdict === "unproved");
  if (unproved.length === 0) return undefined;
  const reasons = unproved.map(({ name, detail }) => `"${kProbeTitles[name]}": ${detail}`);
  return `what it confines could not be proved: ${reasons.join("; ")}`;
}
