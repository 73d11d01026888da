/** Says of each probe what became of it, from what a canary and its control run did. Pure. */

import type { Grants } from "../kinds/kind.js";
import type { CanaryProbe, CanaryProbeName, CanaryVerdict } from "./probe.js";

/** What one run of the canary achieved, beyond what the policy grants. */
export type Achieved = {
  /** Directories whose secret it read. */
  read: readonly string[];
  /** Directories that it wrote into. */
  wrote: readonly string[];
  /** Whether it reached the service; undefined: no program there could try it. */
  tcp: boolean | undefined;
  abstract: boolean | undefined;
};

/** All that is known of a canary. */
export type Evidence = {
  grants: Grants;
  confined: Achieved;
  /** The same tools, unconfined. */
  control: Achieved;
  /** Directories that the policy lets no one read, or write. */
  unreadable: readonly string[];
  unwritable: readonly string[];
  /** The survivor was seen while the run went on. */
  survivorSeen: boolean;
  /** And after it. */
  survivorLeft: boolean;
  layers: readonly string[];
};

/** Layers that rule an escape out, whatever could be tried. */
const kRulingOut: Partial<Record<CanaryProbeName, readonly string[]>> = {
  "reach-tcp": ["network-namespace", "no-sockets"],
  "reach-abstract": ["network-namespace", "no-sockets", "landlock-scope"],
};

const kNoControl = "the same probe fails unconfined as well";

function probe(name: CanaryProbeName, verdict: CanaryVerdict, detail?: string): CanaryProbe {
  return detail === undefined || detail === "" ? { name, verdict } : { name, verdict, detail };
}

/** An escape; where the operator's own options opened the sandbox, it is what was asked for. */
function escaped(name: CanaryProbeName, it: Evidence, detail?: string): CanaryProbe {
  const opened = it.layers.filter((layer) => layer.startsWith("opened:"));
  if (opened.length > 0) return probe(name, "granted", opened.join(" "));
  return probe(name, "reached", detail);
}

function judgeFiles(
  name: "read-secret" | "write-outside",
  it: Evidence,
  field: "read" | "wrote",
  places: readonly string[],
): CanaryProbe {
  const reached = it.confined[field];
  if (reached.length > 0) return escaped(name, it, reached.join(", "));
  if (places.length === 0) return probe(name, "granted", "the policy leaves no place to try it");
  const tried = places.every((place) => it.control[field].includes(place));
  return tried ? probe(name, "refused") : probe(name, "unproved", kNoControl);
}

function judgeNetwork(
  name: "reach-tcp" | "reach-abstract",
  it: Evidence,
  field: "tcp" | "abstract",
): CanaryProbe {
  if (it.grants.network) return probe(name, "granted", "the policy allows the network");
  if (it.confined[field] === true) return escaped(name, it);
  if (it.confined[field] === false && it.control[field] === true) return probe(name, "refused");
  const layer = it.layers.find((each) => kRulingOut[name]?.includes(each));
  if (layer !== undefined) return probe(name, "layer", layer);
  const untried = it.confined[field] === undefined;
  return probe(name, "unproved", untried ? "no program inside can try it" : kNoControl);
}

function judgeSurvival({ survivorSeen, survivorLeft }: Evidence): CanaryProbe {
  if (survivorLeft) return probe("outlive", "reached");
  if (survivorSeen) return probe("outlive", "refused");
  return probe("outlive", "unproved", "the survivor was not seen while it ran");
}

/** The verdicts, in the order of kProbeNames. */
export function judge(evidence: Evidence): CanaryProbe[] {
  return [
    judgeFiles("read-secret", evidence, "read", evidence.unreadable),
    judgeFiles("write-outside", evidence, "wrote", evidence.unwritable),
    judgeNetwork("reach-tcp", evidence, "tcp"),
    judgeNetwork("reach-abstract", evidence, "abstract"),
    judgeSurvival(evidence),
  ];
}
