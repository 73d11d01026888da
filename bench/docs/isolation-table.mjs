// Each tool's median beside what its sandbox was found to keep a command from.

import { figure } from "../figure.mjs";
import { ratioOf, summaryOf } from "../rows.mjs";
import { runTime } from "../scenarios/measures.mjs";
import { kVariants } from "../variants/index.mjs";
import { markdownTable } from "./markdown.mjs";

const kColumns = {
  "home hidden": (facts) => !facts.readsHome,
  "/var/lib hidden": (facts) => !facts.readsElsewhere,
  "no writes outside": (facts) => !facts.writesElsewhere,
  "no loopback": (facts) => !facts.reachesLoopback,
  "own pids": ({ namespaces }) => namespaces.includes("pid"),
  "own IPC": ({ namespaces }) => namespaces.includes("ipc"),
  seccomp: (facts) => facts.seccomp,
  "no capabilities": ({ capabilities, namespaces }) =>
    capabilities > 0 && namespaces.includes("user") ? "outside its namespace" : capabilities === 0,
};

const mark = (isSo) => (isSo === false ? "**no**" : isSo === true ? "yes" : isSo);

function marksOf(name, isolation) {
  const { module, isolatesAs = name } = kVariants[name];
  const facts = isolation[isolatesAs];
  if (facts !== undefined) return Object.values(kColumns).map((of) => mark(of(facts)));
  // The C program without a sandbox can't be asked, and need not be.
  return Object.keys(kColumns).map(() => (module === undefined ? mark(false) : "?"));
}

export function isolationTable({ scenarios, isolation }) {
  const measured = scenarios.find(({ scenario }) => scenario.name === "one-run");
  if (measured === undefined) return "Not measured in this run.";
  const { results } = measured.points[0];
  const first = results.values().next().value;
  const lines = [...results].map(([name, bursts]) => [
    kVariants[name].title,
    figure(summaryOf(runTime, bursts).p50),
    bursts === first ? "1" : `${figure(ratioOf(runTime, bursts, first).p50)}x`,
    ...marksOf(name, isolation),
  ]);
  return markdownTable({ head: ["", "p50, ms", "against ours", ...Object.keys(kColumns)], lines });
}
