// How the demo looks.
import { styleText } from "node:util";
import Table from "cli-table3";
import { durationOf } from "./probes.mjs";

export const heading = (text) => console.log(`\n${styleText("bold", text)}\n`);
export const good = (text) => styleText("green", text);
export const bad = (text) => styleText("red", text);
export const dim = (text) => styleText("dim", text);

export function printProbes(tries) {
  const table = new Table({
    head: ["a hostile command tries to", "unconfined it gets", "sandboxed it gets", "outcome", ""],
    colWidths: [28, 20, 31, 16, 11],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { probe, unconfined, sandboxed, contained } of tries) {
    table.push([
      probe.title,
      unconfined === undefined ? dim("(not tried)") : unconfined.says,
      sandboxed.says,
      sandboxed.result.outcome.kind,
      contained ? good("contained") : bad("NOT HELD"),
    ]);
  }
  console.log(table.toString());
}

/** One run in a line: how it ended and what it used. */
export function summaryOf(result) {
  const { outcome, exitCode, usage } = result;
  const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;
  return [
    `${outcome.kind}${outcome.kind === "exited" ? ` ${exitCode}` : ""}`,
    `${seconds(durationOf(result))}`,
    `CPU ${seconds(usage.userCpuMs + usage.systemCpuMs)}`,
    `peak ${(usage.peakMemoryBytes / 1024 / 1024).toFixed(0)} MiB`,
  ].join(", ");
}

/** An audit as JSON, its lists filled up to the line's width instead of one entry a line. */
export function printAudit(audit) {
  const entries = Object.entries(audit).map(([key, value]) => {
    const text = Array.isArray(value) ? listText(value) : JSON.stringify(value);
    return `  ${JSON.stringify(key)}: ${text}`;
  });
  console.log(`{\n${entries.join(",\n")}\n}`);
}

function listText(values) {
  const lines = [""];
  for (const [index, value] of values.entries()) {
    const text = JSON.stringify(value) + (index === values.length - 1 ? "" : ",");
    if (lines.at(-1).length + text.length > 94) lines.push("");
    lines[lines.length - 1] += lines.at(-1) === "" ? text : ` ${text}`;
  }
  return `[\n${lines.map((line) => `    ${line}`).join("\n")}\n  ]`;
}
