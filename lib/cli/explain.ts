import type {
  BubblewrapExplanation,
  BubblewrapNetwork,
  EnvironmentPolicy,
} from "../../types/public.js";
import { HomeSource } from "../home/home-view.js";
import type { FoundCaches } from "../home/host-caches.js";
import type { RuntimeConfig } from "../runtime/config.js";
import type { RuntimeName } from "../runtime/runtime.js";
import { formatSize, shellLines } from "../text.js";
import { checkCommand, checkMounts, checkWorkspace } from "./checks.js";
import { chooseRunner } from "./choose-runner.js";
import { type CliOptions, execInput } from "./options.js";
import { networkOf, rulesInWords } from "./policy.js";
import { watchOutput } from "./terminal.js";
import { openFor } from "./transactions/transaction-place.js";
import { formatDuration } from "./values.js";

/**
 * `native-runner explain`: prints what `run` would do with the same options. A selected runtime is tested
 * like `run` does; the command itself is not run.
 */
export async function explain(command: string[], options: CliOptions): Promise<void> {
  watchOutput(() => {});
  const workspace = checkWorkspace(options);
  checkMounts(options);
  const { runner, name, policy, provedLayers } = await chooseRunner(options);
  const { config, chosenBy } = policy;
  checkCommand(command, config.security);
  const transaction = await openFor(runner, options);
  const plan = (transaction ?? runner).explain(execInput(command, options));
  const planned = await plan.finally(() => transaction?.discard());
  // Layers that only the kernel can add are known from the test.
  const explanation = { ...planned, layers: [...new Set([...provedLayers, ...planned.layers])] };
  const network = networkOf(config, name);
  if (options.json) {
    process.stdout.write(
      `${JSON.stringify({ runtime: name, network, ...explanation }, null, 2)}\n`,
    );
    return;
  }
  const access = accessOf(name, config, workspace, options.transaction);
  const hostNames = Object.keys(process.env).sort();
  const home =
    name === "bubblewrap"
      ? new HomeSource({ shadowDir: workspace, ...config.bubblewrap })
      : undefined;
  const caches = cachesText(home?.caches()?.found);
  const context = { ...access, caches, options, runtime: name, chosenBy, network, hostNames };
  const text = policyText(explanation, context);
  process.stdout.write(`${shellLines(explanation.cmd, explanation.args)}\n\n${text}\n`);
}

/** Formats the policy of a run. Pure. */

/** Facts besides the explanation itself. */
export type ExplainContext = Access & {
  options: CliOptions;
  runtime: RuntimeName;
  /** The option, variable or file that selected it; undefined if none did. */
  chosenBy: string | undefined;
  network: BubblewrapNetwork;
  /** The caches, if there are to be any. */
  caches?: string | undefined;
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
    options.maxOutput === undefined ? "" : `output ${formatSize(options.maxOutput)} per stream`,
    options.memory === undefined ? "" : `memory ${formatSize(options.memory)}`,
    options.cpu === undefined ? "" : `CPU time ${Math.ceil(options.cpu / 1000)}s per process`,
    options.maxProcesses === undefined ? "" : `${options.maxProcesses} processes`,
    options.maxOpenFiles === undefined ? "" : `${options.maxOpenFiles} open files per process`,
    options.maxFile === undefined ? "" : `files of ${formatSize(options.maxFile)}`,
    options.maxWrite === undefined ? "" : `${formatSize(options.maxWrite)} added to files`,
    options.reserve === undefined ? "" : `${formatSize(options.reserve)} stay free`,
    options.cpuShare === undefined ? "" : `CPU share ${options.cpuShare}`,
    options.ioShare === undefined ? "" : `disk share ${options.ioShare}`,
  ];
  return limits.filter((text) => text !== "").join(", ");
}

function networkWords(network: BubblewrapNetwork, runtime: RuntimeName): string {
  if (network === "allow") return "the host's";
  if (typeof network === "object") return rulesInWords(network);
  return runtime === "landlock" ? "none: no sockets" : "none but a private loopback";
}

/** Returns the policy, one row per subject. Variables are only named; no value is shown. */
export function policyText(explanation: BubblewrapExplanation, context: ExplainContext): string {
  const { options, runtime, chosenBy, hostNames, writes, reads, caches, network } = context;
  const passed = new Set(explanation.environment);
  const set = new Set(options.env?.map(([name]) => name));
  return table([
    ["Runtime", `${runtime} (${chosenBy ?? "default"})`],
    ["Writes", writes],
    ["Reads", reads],
    ...(caches === undefined ? [] : [["Caches", caches] as const]),
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

/** Describes the package caches that commands find, and why others are not shown; undefined: none are asked for. */
export function cachesText(found: FoundCaches | undefined): string | undefined {
  if (found === undefined) return undefined;
  const shown = found.caches.map(({ name, source }) => `${name} ${source}`);
  const leftOut = found.leftOut.map(({ name, path, why }) => `${name} ${path}: ${why}`);
  const rest = leftOut.length === 0 ? "" : `; not shown: ${leftOut.join(", ")}`;
  return `${shown.length === 0 ? "none" : shown.join(", ")}, copy-on-write${rest}`;
}

/** Describes the paths that a runtime lets a command read and write. Pure. */

/** The descriptions of both. */
type Access = { writes: string; reads: string };

/** Returns "none", or the list without duplicates. */
const listed = (list: readonly string[]) =>
  list.length === 0 ? "none" : [...new Set(list)].join(" ");

/** Returns the mounts with one of the modes, each with its guest path if that differs. */
function mounted({ mounts }: RuntimeConfig["bubblewrap"], mode: "ro" | "rw"): string[] {
  return mounts
    .filter((mount) => mount.mode === mode)
    .map(({ hostPath, guestPath = hostPath }) =>
      guestPath === hostPath ? hostPath : `${hostPath} (at ${guestPath})`,
    );
}

/** Returns the devices as the end of a list; nothing if there are none. */
const withDevices = (devices: readonly string[] = []) =>
  devices.length === 0 ? "" : `; devices: ${devices.join(" ")}`;

/** Names the system that commands see: paths of the host, or another root. */
function systemOf({ root, roBinds }: RuntimeConfig["bubblewrap"]): readonly string[] {
  if (root === undefined) return roBinds;
  if ("directory" in root) return [`${root.directory} (at /)`];
  const tag = root.tag === undefined ? "" : `, ${root.tag}`;
  return [`the image ${root.image}${tag} (at /)`];
}

/** The home that Landlock's commands have besides the listed directories. */
function homeOfLandlock(home: RuntimeConfig["landlock"]["home"] = "private"): string[] {
  if (home === "none") return [];
  if (typeof home === "object") return [`${home.directory} (HOME)`];
  return [home === "kept" ? "a kept HOME" : "a HOME of the run's own"];
}

/**
 * @param workspace a real path.
 * @param inTransaction true if changes to it stay in a transaction; only with Bubblewrap.
 */
export function accessOf(
  name: RuntimeName,
  config: RuntimeConfig,
  workspace: string,
  inTransaction = false,
): Access {
  const { bubblewrap, landlock, firejail } = config;
  switch (name) {
    case "bubblewrap": {
      const { allowWriteWorkspace, workspacePath = "/workspace" } = bubblewrap;
      const notes = [
        ...(workspacePath === "same" ? [] : [`at ${workspacePath}`]),
        ...(allowWriteWorkspace && inTransaction ? ["in a transaction"] : []),
      ];
      const shown = notes.length === 0 ? workspace : `${workspace} (${notes.join(", ")})`;
      const writable = mounted(bubblewrap, "rw");
      const written = allowWriteWorkspace ? [shown, ...writable] : writable;
      const rest = allowWriteWorkspace ? "" : `; ${shown} is read-only`;
      return {
        writes: `${written.map((path) => `${path}, `).join("")}${written.length > 0 ? "and " : ""}a private /tmp${rest}`,
        reads: `${listed([...systemOf(bubblewrap), ...mounted(bubblewrap, "ro")])}; a private /proc and /dev${withDevices(bubblewrap.devices)}`,
      };
    }
    case "landlock": {
      const written = landlock.allowWriteWorkspace ? [workspace] : [];
      const read = landlock.allowReadWorkspace ? [workspace] : [];
      return {
        writes: listed([...written, ...landlock.fsWriteDirs, ...homeOfLandlock(landlock.home)]),
        reads: `${listed([...read, ...landlock.fsReadDirs, ...landlock.fsWriteDirs])}${withDevices(landlock.devices)}`,
      };
    }
    case "firejail":
      if (firejail.profile !== null) {
        const reads = `${workspace}, and what the profile ${firejail.profile} says`;
        return { writes: reads, reads };
      }
      return {
        writes: `${listed([workspace, ...firejail.fsWriteDirs])}, and a private /tmp`,
        reads: listed([workspace, ...firejail.fsReadDirs, ...firejail.fsWriteDirs]),
      };
    case "native":
      return { writes: "all that this user can: NO sandbox", reads: "all that this user can" };
  }
}

const kMostColumns = 100;
const kLeastColumns = 60;

/** Columns of a table: those of a terminal, within bounds. */
const columnsOf = ({ columns = kMostColumns }: { columns?: number }) =>
  Math.min(Math.max(columns, kLeastColumns), kMostColumns);

/** Returns rows of "title  text", with texts aligned and wrapped at word ends. */
function table(
  rows: readonly (readonly [title: string, text: string])[],
  width = columnsOf(process.stdout),
): string {
  const indent = Math.max(...rows.map(([title]) => title.length)) + 2;
  const lines: string[] = [];
  for (const [title, text] of rows) {
    let line = title.padEnd(indent - 1);
    for (const word of text.split(" ")) {
      if (line.length + word.length + 1 > width && line.length > indent) {
        lines.push(line);
        line = " ".repeat(indent - 1);
      }
      line += ` ${word}`;
    }
    lines.push(line);
  }
  return lines.join("\n");
}
