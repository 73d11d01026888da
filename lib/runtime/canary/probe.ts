/** What a canary run tries, and what became of it. */

/** The escapes that are tried. */
export const kProbeNames = [
  "read-secret",
  "write-outside",
  "reach-tcp",
  "reach-abstract",
  "outlive",
] as const;

/** An escape that a canary run tries. */
export type CanaryProbeName = (typeof kProbeNames)[number];

/**
 * "refused": tried, without success, while the same probe succeeds unconfined. "reached": it got
 * through. "granted": the policy allows it. "layer": could not be tried here, but a layer that was in
 * force rules it out. "unproved": could not be tried.
 */
export type CanaryVerdict = "refused" | "reached" | "granted" | "layer" | "unproved";

/** One escape that was tried. */
export type CanaryProbe = {
  /** Which. */
  name: CanaryProbeName;
  /** What became of it. */
  verdict: CanaryVerdict;
  /** What was seen, or the layer that rules it out. */
  detail?: string;
};

/** For people: what the probe does. */
export const kProbeTitles: Readonly<Record<CanaryProbeName, string>> = {
  "read-secret": "read a file outside",
  "write-outside": "write a file outside",
  "reach-tcp": "reach a TCP service of the host",
  "reach-abstract": "reach an abstract socket of the host",
  outlive: "outlive the run",
};
