import { realpathSync } from "node:fs";

import type { BubblewrapExplanation, EnvironmentPolicy } from "../../types/public.js";
import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { formatDuration } from "./duration.js";
import { type CliOptions, execInput, runnerOptions } from "./options.js";
import { shellLines } from "./shell-quote.js";
import { formatSize } from "./size.js";
import { watchOutput } from "./terminal.js";

/** What is told besides the explanation itself. */
export type ExplainContext = {
  options: CliOptions;
  /** Real path of the workspace. */
  workspace: string;
  roBinds: readonly string[];
  /** Names of the host's variables. */
  hostNames: readonly string[];
};

/** Rows of "title  text", texts aligned and wrapped at word ends to 100 columns. */
function table(rows: readonly (readonly [title: string, text: string])[]): string {
  const indent = Math.max(...rows.map(([title]) => title.length)) + 2;
  const lines: string[] = [];
  for (const [title, text] of rows) {
    let line = title.padEnd(indent - 1);
    for (const word of text.split(" ")) {
      if (line.length + word.length + 1 > 100 && line.length > indent) {
        lines.push(line);
        line = " ".repeat(indent - 1);
      }
      line += ` ${word}`;
    }
    lines.push(line);
  }
  return lines.join("\n");
}

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

const names = (list: readonly string[]) => (list.length === 0 ? "none" : list.join(" "));

/** The policy in words, a row a subject. Variables are named only; no value is shown. */
export function explainPolicy(explanation: BubblewrapExplanation, context: ExplainContext): string {
  const { options, workspace, roBinds, hostNames } = context;
  const passed = new Set(explanation.environment);
  const set = new Set(options.env?.map(([name]) => name));
  return table([
    ["Writes", `${workspace} (at /workspace), and a private /tmp`],
    ["Reads", `${names(roBinds)}; a private /proc and /dev`],
    ["Network", options.network === "deny" ? "none but a private loopback" : "the host's"],
    ["Environment", environmentWords(options.envPolicy)],
    ["  passed", names(hostNames.filter((name) => passed.has(name) && !set.has(name)))],
    ["  held back", names(hostNames.filter((name) => !passed.has(name)))],
    ["  set by --env", names([...set])],
    ["Limits", limitWords(options)],
    ["Layers", names(explanation.layers)],
    ["Policy hash", explanation.policyHash],
  ]);
}

/** `native-runner explain`: what `run` would do with the same options, on standard output. */
export async function explain(command: string[], options: CliOptions): Promise<void> {
  watchOutput(() => {});
  const runner = new BubblewrapNativeRunner(runnerOptions(options));
  const explanation = await runner.explain(execInput(command, options));
  if (options.json) {
    process.stdout.write(`${JSON.stringify(explanation, null, 2)}\n`);
    return;
  }
  const policy = explainPolicy(explanation, {
    options,
    workspace: realpathSync(runner.shadowDir),
    roBinds: runner.roBinds,
    hostNames: Object.keys(process.env).sort(),
  });
  process.stdout.write(`${shellLines(explanation.cmd, explanation.args)}\n\n${policy}\n`);
}
