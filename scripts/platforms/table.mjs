// The table of docs/platforms/README.md: written by the command alone, from what it has seen. Rows of
// platforms that were not run this time stay as they were written, with the commit they belong to.
import { readFileSync, writeFileSync } from "node:fs";
import { inRoot, root as place } from "../lib/project.mjs";

const kPage = "docs/platforms/README.md";
const kBegin = "<!-- table: npm run check:platforms -- --write -->";
const kEnd = "<!-- end of table -->";
const kHead = [
  [
    "platform",
    "from",
    "smoke, root",
    "smoke, user",
    "import, first (ms)",
    "C++",
    "unit, types",
    "integration",
  ],
  ["date, commit", "left out"],
].flat();

const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");
const line = (cells) => `| ${cells.join(" | ")} |`;

function counted({ passed = 0, failed = [] } = {}) {
  const all = passed + failed.length;
  return all === 0 ? "not run" : `${passed} of ${all}`;
}

/** When the package was imported and the first command had ended; the ordinary user's, who comes second. */
function timesOf({ user, root }) {
  const { importMs, firstMs } = user ?? root ?? {};
  return importMs === undefined ? "not run" : `${importMs}, ${firstMs ?? "none"}`;
}

/** What was left out, without paths of the machine on which it was seen. */
const plainly = (text) => text.replace(/\/\S*\/bwrap\S*/g, "this bwrap");

const kMostTold = 200; // characters of a failure, which may be a whole console

/** A failure in a line, without the place of the checkout. */
const failureOf = (text) =>
  `**failed**: ${text.split("\n")[0].replaceAll(`${place}/`, "").slice(0, kMostTold)}`;

/** What has failed in a row, and what it lacks and leaves out: each reason once, with those for whom. */
function reasonsOf(row) {
  const told = new Map();
  for (const user of ["root", "user"]) {
    const { leftOut = [], lacks = [] } = row[user] ?? {};
    for (const reason of [...lacks, ...leftOut].map(plainly)) {
      told.set(reason, [...(told.get(reason) ?? []), `as ${user}`]);
    }
  }
  const left = [...told].map(([reason, users]) => `${reason} (${users.join(" and ")})`);
  return [...row.failed.map(failureOf), ...left];
}

/** A row of checkPlatform as it is written: its cells but the last, and what is told below the table. */
function written(row) {
  const { name, how, root, user, units, suites = {}, date, commit } = row;
  const counts = [units, suites.unit, suites.integration].map(counted);
  const seen = [counted(root), counted(user), timesOf(row), ...counts];
  const cells = [name, how, ...seen, `${date}, ${commit}`].map(cell);
  return { name, cells, reasons: reasonsOf(row) };
}

function textOf(rows) {
  const numbers = new Map();
  const numberOf = (reason) => {
    if (!numbers.has(reason)) numbers.set(reason, numbers.size + 1);
    return numbers.get(reason);
  };
  const lines = rows.map(({ cells, reasons }) =>
    line([...cells, reasons.map(numberOf).join(", ") || "nothing"]),
  );
  const notes = [...numbers].map(([reason, number]) => `${number}. ${reason}`);
  return [line(kHead), `|${"---|".repeat(kHead.length)}`, ...lines, "", ...notes].join("\n");
}

/** The rows of a written table; none of one that has other columns. */
function readTable(text) {
  const lines = text.split("\n").map((each) => each.trim());
  if (!lines.includes(line(kHead))) return [];
  const reasons = new Map();
  for (const each of lines) {
    const [, number, reason] = /^(\d+)\. (.*)$/.exec(each) ?? [];
    if (number !== undefined) reasons.set(number, reason);
  }
  const body = lines.filter((each) => each.startsWith("| ") && each !== line(kHead));
  return body.map((each) => {
    const cells = each.slice(2, -2).split(" | ");
    const numbers = cells.pop().split(", ");
    const told = numbers
      .map((number) => reasons.get(number))
      .filter((reason) => reason !== undefined);
    return { name: cells[0].replaceAll("\\|", "|"), cells, reasons: told };
  });
}

/** @param rows those of checkPlatform, with `commit`. */
export const tableOf = (rows) => textOf(rows.map(written));

/**
 * A table with new rows in the place of old ones. Pure.
 * @param before the table as it was.
 * @param names of all platforms, in their order: rows of others go away.
 */
export function mergedTable(before, rows, names) {
  const all = new Map([...readTable(before), ...rows.map(written)].map((row) => [row.name, row]));
  return textOf(names.flatMap((name) => all.get(name) ?? []));
}

export function writeTable(rows, names) {
  const page = readFileSync(inRoot(kPage), "utf8");
  const begin = page.indexOf(kBegin) + kBegin.length;
  const end = page.indexOf(kEnd);
  if (begin < kBegin.length || end < begin) throw new Error(`${kPage} has no place for the table`);
  const table = mergedTable(page.slice(begin, end), rows, names);
  writeFileSync(inRoot(kPage), `${page.slice(0, begin)}\n\n${table}\n\n${page.slice(end)}`);
}
