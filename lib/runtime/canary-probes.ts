/** The probes of a canary run, and their results. */

/** The escapes that are tried. */
const kProbeNames = [
  "read-secret",
  "write-outside",
  "reach-tcp",
  "reach-abstract",
  "outlive",
] as const;

/** An escape that a canary run tries. */
export type CanaryProbeName = (typeof kProbeNames)[number];

/**
 * "refused": tried without success, while the same probe succeeds unconfined. "reached": the escape
 * succeeded. "granted": the policy allows it. "layer": could not be tried here, but a layer in force rules it
 * out. "unproved": could not be tried.
 */
export type CanaryVerdict = "refused" | "reached" | "granted" | "layer" | "unproved";

/** One escape that was tried. */
export type CanaryProbe = {
  /** The escape. */
  name: CanaryProbeName;
  /** The result. */
  verdict: CanaryVerdict;
  /** Observed details, or the layer that rules it out. */
  detail?: string;
};

/** Description of the probe, for people. */
export const kProbeTitles: Readonly<Record<CanaryProbeName, string>> = {
  "read-secret": "read a file outside",
  "write-outside": "write a file outside",
  "reach-tcp": "reach a TCP service of the host",
  "reach-abstract": "reach an abstract socket of the host",
  outlive: "outlive the run",
};

/** Decides if a runtime may be called available after its canary run. Pure. */

/** Returns why not; undefined if every probe was refused, granted by the policy or ruled out by a layer. */
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
