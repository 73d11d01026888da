/** The policy of a run in words. Pure. */

import type {
  BubblewrapExplanation,
  BubblewrapNetwork,
  EnvironmentPolicy,
} from "../../../types/public.js";
import type { RuntimeName } from "../../runtime/names.js";
import { rulesInWords } from "../network-words.js";
import type { CliOptions } from "../options.js";
import { formatDuration } from "../values/duration.js";
import { formatSize } from "../values/size.js";
import { type Access, listed } from "./access.js";
import { table } from "./table.js";

/** What is told besides the explanation itself. */
export type ExplainContext = Access & {
  options: CliOptions;
  runtime: RuntimeName;
  /** The option, variable or file that chose it; undefined when none did. */
  chosenBy: string | undefined;
  network: BubblewrapNetwork;
  /** Names of the host's variables. */
  hostNames: readonly string[];
};

function environmentWords(policy: EnvironmentPolicy): string {
  if (policy === "scrub") return "the host's, without secrets and loader variables";
  if (policy === "inherit") return "all of the host's";
  if (policy === "clean") return "none of the host's";
  return `only ${policy.join(", ")} of the host's`;
}

function limitWords(options: CliOptions): string {
  const limits = [
    `time ${formatDuration(options.timeout)}`,
    `output ${formatSize(options.maxOutput)} per stream`,
    options.memory === undefined ? "" : `memory ${formatSize(options.memory)}`,
    options.cpu === undefined ? "" : `CPU time ${Math.ceil(options.cpu / 1000)}s per process`,
    options.maxProcesses === undefined ? "" : `${options.maxProcesses} processes`,
    options.maxOpenFiles === undefined ? "" : `${options.maxOpenFiles} open files per process`,
    options.maxFile === undefined ? "" : `files of ${formatSize(options.maxFile)}`,
  ];
  return limits.filter((text) => text !== "").join(", ");
}

function networkWords(network: BubblewrapNetwork, runtime: RuntimeName): string {
  if (network === "allow") return "the host's";
  if (typeof network === "object") return rulesInWords(network);
  return runtime === "landlock" ? "none: no sockets" : "none but a private loopback";
}

/** The policy, a row a subject. Variables are named only; no value is shown. */
export function policyText(explanation: BubblewrapExplanation, context: ExplainContext): string {
  const { options, runtime, chosenBy, hostNames, writes, reads, network } = context;
  const passed = new Set(explanation.environment);
  const set = new Set(options.env?.map(([name]) => name));
  return table([
    ["Runtime", `${runtime} (${chosenBy ?? "default"})`],
    ["Writes", writes],
    ["Reads", reads],
    ["Network", networkWords(network, runtime)],
    ["Environment", environmentWords(options.envPolicy)],
    ["  passed", listed(hostNames.filter((name) => passed.has(name) && !set.has(name)))],
    ["  held back", listed(hostNames.filter((name) => !passed.has(name)))],
    ["  set by --env", listed([...set])],
    ["Limits", limitWords(options)],
    ["Layers", listed(explanation.layers)],
    ["Policy hash", explanation.policyHash],
  ]);
}
