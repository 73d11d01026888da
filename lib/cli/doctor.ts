import Table from "cli-table3";
import pc from "picocolors";

import { packageVersion } from "../package-version.js";
import { type CanaryProbe, kProbeTitles } from "../runtime/canary-probes.js";
import { kKinds } from "../runtime/kinds.js";
import type { RuntimeState, RuntimeType } from "../runtime/runtime.js";
import { readPolicy } from "./choose-runner.js";
import { type DoctorReport, type DoctorRuntime, examine } from "./doctor-report.js";
import { kDefaultRuntime, rulesInWords } from "./policy.js";
import { wantsColors, watchOutput } from "./terminal.js";

/** Options as commander passes them. */
export type DoctorOptions = { json?: boolean; config?: string; runtime?: RuntimeType };

/** Returns 0 if the selected runtime confines, or native was requested by name; otherwise 1. */
export function doctorExitCode({ chosen, runtimeType }: DoctorReport): number {
  return chosen !== null && (chosen !== "native" || runtimeType === "native") ? 0 : 1;
}

/** `native-runner doctor`: tests which runtimes work here, and suggests fixes for the others. */
export async function doctor(options: DoctorOptions): Promise<void> {
  watchOutput(() => {});
  const report = await examine(packageVersion(), await readPolicy(options, process.env));
  const text = options.json
    ? JSON.stringify(report, null, 2)
    : doctorText(report, wantsColors(process.stdout), process.stdout.columns);
  process.stdout.write(`${text}\n`);
  process.exitCode ??= doctorExitCode(report);
}

/** Formats the doctor's report for people. Pure. */

type Colors = ReturnType<typeof pc.createColors>;

const kWidths = [12, 15, 11] as const;
const kWidest = 105;
const kNarrowest = 60;
const kEdges = 5;

/** Returns the widths of the columns of a table that fits. */
function widthsFor(columns: number): number[] {
  const width = Math.min(Math.max(columns, kNarrowest), kWidest);
  const rest = kWidths.reduce((left, each) => left - each, width - kEdges);
  return [...kWidths, rest];
}

function stateText(runtime: DoctorRuntime, colors: Colors): string {
  const paint: Record<RuntimeState, (text: string) => string> = {
    available: runtime.name === "native" ? colors.yellow : colors.green,
    broken: colors.red,
    missing: colors.dim,
  };
  const text = runtime.available && runtime.name === "native" ? "not confined" : runtime.state;
  return paint[runtime.state](text);
}

function cost({ emptyRunMs }: DoctorRuntime): string {
  return emptyRunMs === undefined ? "-" : `${emptyRunMs.toFixed(1)} ms`;
}

function row(runtime: DoctorRuntime, colors: Colors): string[] {
  const { name, available, layers, reason = "" } = runtime;
  const last = available ? layers.join(", ") : reason.split("\n")[0];
  return [kKinds[name].title, stateText(runtime, colors), cost(runtime), last || "-"];
}

function probesText(probes: readonly CanaryProbe[]): string[] {
  return probes.map(({ name, verdict, detail }) => {
    return `  ${verdict.padEnd(8)} ${kProbeTitles[name]}${detail ? ` (${detail})` : ""}`;
  });
}

function clonesText({ clones }: DoctorRuntime): string[] {
  if (clones === undefined) return [];
  if (clones.state === "proved") return ["  clones: used; in one, the same was refused"];
  return [`  clones: not used: ${indent(clones.reason ?? "")}`];
}

function secretsText({ secrets }: DoctorRuntime): string[] {
  if (secrets === undefined) return [];
  const { state, reason = "" } = secrets;
  if (state === "broken") return [`  secrets: can't be used: ${indent(reason)}`];
  return ["  secrets: a command got a placeholder, and trusts our authority for TLS"];
}

function lacksText({ lacks = [] }: DoctorRuntime): string[] {
  return lacks.map(({ option, consequence }) => `  this bwrap lacks ${option}: ${consequence}`);
}

function indent(text: string): string {
  return text.split("\n").join("\n       ");
}

function details(runtime: DoctorRuntime, colors: Colors): string[] {
  const { name, available, reason, fix, probes } = runtime;
  if (available && probes.length === 0) return [];
  const lines = ["", colors.bold(kKinds[name].title)];
  if (!available && reason) lines.push(`  why: ${indent(reason)}`);
  if (fix) lines.push(`  fix: ${indent(fix)}`);
  if (probes.length > 0) lines.push("  proof: what a test command tried", ...probesText(probes));
  lines.push(...clonesText(runtime), ...secretsText(runtime), ...lacksText(runtime));
  return lines;
}

function heading({ version, host }: DoctorReport): string {
  const place = host.container === undefined ? "" : `, in a container (${host.container})`;
  const system = host.platform === "linux" ? "Linux" : host.platform;
  const { name } = host.distribution;
  return `native-runner ${version} on ${name}, ${system} ${host.kernel}, ${host.arch}${place}`;
}

const kProcTexts = {
  private: "a sandbox inside it can mount its own /proc",
  host: "a sandbox inside it shows the outer /proc, read-only",
} as const;

function toolsText({ tools: { tools, leftOut } }: DoctorReport, colors: Colors): string[] {
  if (tools.length === 0 && leftOut.length === 0) return [];
  const lines = ["", colors.bold("Tools of PATH that commands in Bubblewrap find")];
  if (tools.length > 0) {
    const table = new Table({
      head: ["Tool", "Shown, read-only", "Does not work"],
      colWidths: [18, 48, 34],
      wordWrap: true,
      wrapOnWordBoundary: false,
      style: { head: [], border: [] },
    });
    table.push(...tools.map(({ name, shown, cannot }) => [name, shown.join("\n"), cannot]));
    lines.push(table.toString());
  }
  return [...lines, ...leftOut.map(({ path, why }) => `  not shown: ${path}: ${why}`)];
}

function devicesText({ devices }: DoctorReport, colors: Colors): string[] {
  if (devices.length === 0) return [];
  const rows = devices.map(({ family, available, reason }) => {
    return `  ${family.padEnd(8)}${available ? "yes" : `no: ${reason}`}`;
  });
  return ["", colors.bold("Devices that commands in Bubblewrap can have (--device)"), ...rows];
}

function boundsText({ bounds }: DoctorReport, colors: Colors): string[] {
  if (bounds.length === 0) return [];
  const rows = bounds.flatMap(({ limit, kept, by = "", reason = "", fix }) => {
    const row = `  ${limit.padEnd(14)}${kept ? by : `not kept: ${reason}`}`;
    return kept || fix === undefined ? [row] : [row, `    fix: ${indent(fix)}`];
  });
  return [
    "",
    colors.bold("Limits that this host keeps for commands in Bubblewrap, and by what"),
    ...rows,
  ];
}

/** If bwrap can't create a sandbox, a runtime that needs no mounts may still confine. */
function withoutBwrap(runtimes: readonly DoctorRuntime[]): string {
  const others = runtimes.filter(({ name, available }) => available && name !== "native");
  if (others.length === 0) return "no sandbox can be made inside";
  const names = others.map(({ name }) => kKinds[name].title).join(" and ");
  return `Bwrap can make no sandbox inside; ${names} can confine commands`;
}

function nestingText({ nesting, runtimes }: DoctorReport): string[] {
  const { nested, signs, proc, reason, fix } = nesting;
  if (!nested) return [];
  const what = proc === null ? withoutBwrap(runtimes) : kProcTexts[proc];
  const lines = [`nested (${signs.join(", ")}): ${what}`];
  if (proc === null && reason) lines.push(`  why: ${indent(reason)}`);
  if (proc === null && fix) lines.push(`  fix: ${indent(fix)}`);
  return lines;
}

/** If no runtime is selected, `run` uses its default instead of searching for one that works. */
function runText({ run }: DoctorReport): string[] {
  const { runtime, chosenBy, network, bwrapPath } = run;
  const what = `\`run\` takes ${runtime ?? kDefaultRuntime} (${chosenBy ?? "default"})`;
  if (runtime === null) return chosenBy === null ? [`${what}, which does not work here`] : [];
  const program = runtime === "bubblewrap" ? `, bwrap: ${bwrapPath}` : "";
  return [`${what}, network: ${rulesInWords(network)}${program}`];
}

function conclusion(report: DoctorReport): string {
  const { runtimeType, chosen, required } = report;
  if (chosen === "native") return `${runtimeType} runs commands WITHOUT a sandbox`;
  if (chosen !== null)
    return runtimeType === chosen ? `${chosen} works` : `${runtimeType} takes ${chosen}`;
  const what =
    runtimeType === "auto" ? "no sandbox works here" : `${runtimeType} does not work here`;
  return required ? `${what}, and one is required: nothing will run` : what;
}

/** Returns the report as lines of text, optionally with colors. */
export function doctorText(report: DoctorReport, useColors: boolean, columns = 105): string {
  const colors = pc.createColors(useColors);
  const table = new Table({
    head: ["Runtime", "State", "Empty run", "Layers in force, or why not"],
    colWidths: widthsFor(columns),
    wordWrap: true,
    style: { head: [], border: [] },
  });
  table.push(...report.runtimes.map((runtime) => row(runtime, colors)));
  const lines = [
    heading(report),
    ...nestingText(report),
    table.toString(),
    ...report.runtimes.flatMap((runtime) => details(runtime, colors)),
    ...toolsText(report, colors),
    ...devicesText(report, colors),
    ...boundsText(report, colors),
    "",
    ...report.warnings.map((warning) => colors.yellow(`warning: ${warning}`)),
    ...runText(report),
    colors.bold(conclusion(report)),
  ];
  return lines.join("\n");
}
