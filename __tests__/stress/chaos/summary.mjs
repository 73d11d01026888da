// What a run of chaos says at its end.
import Table from "cli-table3";

const kPlain = { head: [], border: [] };

/** Rows and columns of counts, with their sums. */
function countTable(title, counts) {
  const columns = [...new Set(Object.values(counts).flatMap(Object.keys))].sort();
  const table = new Table({
    head: [title, ...columns, "all"],
    colAligns: ["left", ...columns.map(() => "right"), "right"],
    style: kPlain,
  });
  const sum = (row) => Object.values(row).reduce((total, count) => total + count, 0);
  const line = (name, row) => [name, ...columns.map((column) => row[column] ?? ""), sum(row)];
  for (const [name, row] of Object.entries(counts)) table.push(line(name, row));
  const total = {};
  for (const row of Object.values(counts)) {
    for (const [column, count] of Object.entries(row)) total[column] = (total[column] ?? 0) + count;
  }
  table.push(line("all", total));
  return table.toString();
}

export function summaryOf(tally, complaints) {
  const { calls, strikes, fates, missing, touched, checkpoints, freezes, balloons, grownBytes } =
    tally;
  const of = (counts) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ");
  const lines = [
    countTable("calls by runner", calls),
    `of these, by others than their callers: ${of(touched)}`,
    countTable("signals by target", strikes),
    `hosts: ${of(fates)}; frozen for a moment: ${freezes}; memory balloons: ${balloons}`,
    `checkpoints: ${checkpoints}; largest growth of a host between two: ` +
      `${Math.round(grownBytes / 2 ** 20)} MiB`,
    ...Object.entries(missing).map(([kind, why]) => `not run: ${kind}: ${why}`),
  ];
  for (const { kind, count, texts } of complaints) {
    lines.push(`\nFAULT ${kind} (${count}):`, ...texts.map((text) => `  ${text}`));
    if (count > texts.length) lines.push(`  … and ${count - texts.length} more`);
  }
  return lines.join("\n");
}
