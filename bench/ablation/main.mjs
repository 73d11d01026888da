// node bench/ablation/main.mjs [ROUNDS [RUNS]]: what each step of a clone costs, as a Markdown table.
// The C program beside this runs in the sandbox that bwrap makes for a template and makes clones with
// a step left out; what is left out costs the median of the rounds' differences. Needs a built package, and a
// machine that does nothing else.

import { execFileSync } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { strictSandbox } from "../machine.mjs";
import { compiled } from "../programs.mjs";
import { markdownTable } from "../report.mjs";
import { summarize } from "../statistics.mjs";

const kProgram = "/clone-steps";
const kColumns = [
  { title: "µs, one at a time", atOnce: 1, of: "wall" },
  { title: "µs, 8 at once", atOnce: 8, of: "wall" },
  { title: "µs of CPU, 8 at once", atOnce: 8, of: "cpu" },
];

/** A strict sandbox's options as a template's; see PlanTemplate. */
function templateOptions(options) {
  const kept = [];
  for (let i = 0; i < options.length; i++) {
    const option = options[i];
    if (option === "--cap-drop") {
      kept.push("--cap-add", options[++i]);
    } else if (option === "--remount-ro" && options[i + 1] === "/proc") {
      i += 1;
    } else if (option !== "--disable-userns" && option !== "--unshare-cgroup") {
      kept.push(option);
    }
  }
  return kept;
}

function costsOf(measured, of) {
  const [[first, { [of]: whole }], ...others] = Object.entries(measured);
  const less = others.map(([name, { [of]: rounds }]) => [
    name,
    summarize(rounds.map((took, round) => whole[round] - took)).p50,
  ]);
  return [[first, summarize(whole).p50], ...less];
}

const [rounds = 20, runs = 60] = process.argv.slice(2).map(Number);
const workspace = await realpath(await mkdtemp(join(tmpdir(), "native-runner-bench-")));
try {
  const { cmd, options } = await strictSandbox(workspace);
  const program = await compiled(new URL("./clone-steps.c", import.meta.url));
  // Ahead of what makes the root read-only.
  const before = templateOptions(options);
  const place = before.indexOf("--ro-bind");
  before.splice(place, 0, "--ro-bind", program, kProgram);
  const measuredAt = (atOnce) => {
    const words = [rounds, runs, atOnce, process.getuid(), process.getgid()].map(String);
    const all = [...before, "--as-pid-1", "--", kProgram, ...words];
    return JSON.parse(execFileSync(cmd, all, { encoding: "utf8" }));
  };
  const measured = new Map([1, 8].map((atOnce) => [atOnce, measuredAt(atOnce)]));
  const columns = kColumns.map(({ atOnce, of }) => costsOf(measured.get(atOnce), of));
  const head = ["step", ...kColumns.map(({ title }) => title)];
  const lines = columns[0].map(([name], i) => [
    name,
    ...columns.map((column) => column[i][1].toFixed(0)),
  ]);
  console.log(markdownTable({ head, lines }));
} finally {
  await rm(workspace, { recursive: true, force: true });
}
