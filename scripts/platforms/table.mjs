// The table of docs/platforms/README.md: written by the command alone, from what it has seen.
import { readFileSync, writeFileSync } from "node:fs";
import { inRoot } from "../lib/project.mjs";

const kPage = "docs/platforms/README.md";
const kBegin = "<!-- table: npm run check:platforms -- --write -->";
const kEnd = "<!-- end of table -->";

const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");

const counted = (result) =>
  result === undefined ? "not run" : `${result.passed} of ${result.passed + result.failed.length}`;

/** What was left out, without paths of the machine on which it was seen. */
const plainly = (line) => line.replace(/\/\S*\/bwrap\S*/g, "this bwrap");

/** The notes below the table: each reason once, by its number. */
class Notes {
  #numbers = new Map();

  of(row) {
    const told = new Map();
    for (const user of ["root", "user"]) {
      for (const line of (row[user]?.leftOut ?? []).map(plainly)) {
        told.set(line, [...(told.get(line) ?? []), `as ${user}`]);
      }
    }
    const numbers = [...told].map(([reason, users]) => {
      const line = `${reason} (${users.join(" and ")})`;
      if (!this.#numbers.has(line)) this.#numbers.set(line, this.#numbers.size + 1);
      return this.#numbers.get(line);
    });
    return numbers.join(", ") || "nothing";
  }

  lines() {
    return [...this.#numbers].map(([line, number]) => `${number}. ${line}`);
  }
}

/** @param rows those of checkPlatform, with `commit`. */
export function tableOf(rows) {
  const notes = new Notes();
  const head = [
    "| platform | from | smoke, root | smoke, user | unit, types | integration | date, commit | left out |",
    "|---|---|---|---|---|---|---|---|",
  ];
  const lines = rows.map((row) => {
    const { name, how, root, user, suites = {}, date, commit } = row;
    const counts = [root, user, suites.unit, suites.integration].map(counted);
    const cells = [name, how, ...counts, `${date}, ${commit}`, notes.of(row)];
    return `| ${cells.map(cell).join(" | ")} |`;
  });
  return [...head, ...lines, "", ...notes.lines()].join("\n");
}

export function writeTable(rows) {
  const page = readFileSync(inRoot(kPage), "utf8");
  const begin = page.indexOf(kBegin) + kBegin.length;
  const end = page.indexOf(kEnd);
  if (begin < kBegin.length || end < begin) throw new Error(`${kPage} has no place for the table`);
  const written = `${page.slice(0, begin)}\n\n${tableOf(rows)}\n\n${page.slice(end)}`;
  writeFileSync(inRoot(kPage), written);
}
