// The options of lib/options.ts as the tables of docs/options.md. __tests__/docs/options.test.ts fails when the page has
// others.
//   node scripts/checks/options-table.mjs --write     updates the page; else prints the tables
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { inRoot } from "../lib/project.mjs";

const kPage = inRoot("docs/options.md");

/** Which rows are in a table, by the name in its mark, and the head of its first column. */
const kTables = {
  "every runner": ["kEveryRunner", "option"],
  "in a transaction": ["kInTransaction", "option"],
  confining: ["kConfining", "option"],
  bubblewrap: ["kBubblewrap", "option"],
  landlock: ["kLandlock", "option of `LandlockNativeRunner`"],
  firejail: ["kFirejail", "option of `FirejailNativeRunner`"],
};

/** The rows of lib/options.ts, which is loaded by itself: it imports nothing but types. */
async function loadOptions() {
  const source = readFileSync(inRoot("lib/options.ts"), "utf8");
  const { code } = await transform(source, { loader: "ts", format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);
}

const code = (text) => `\`${text}\``;

function shownDefault({ shown, paths, default: value }) {
  if (shown !== undefined) return shown;
  if (paths !== undefined) return code(paths.join(" "));
  if (value === undefined || value.length === 0) return "none";
  return typeof value === "number" ? value.toLocaleString("en-US") : code(JSON.stringify(value));
}

function tableOf(rows, head) {
  const lines = Object.entries(rows).map(
    ([name, row]) => `| ${code(name)} | ${shownDefault(row)} | ${row.doc} |\n`,
  );
  return `| ${head} | default | meaning |\n|---|---|---|\n${lines.join("")}`;
}

/** The tables by the names in their marks. */
export async function optionTables() {
  const options = await loadOptions();
  return Object.fromEntries(
    Object.entries(kTables).map(([name, [rows, head]]) => [name, tableOf(options[rows], head)]),
  );
}

/** The page with these tables, each between its marks. */
export function withTables(page, tables) {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const begin = `<!-- options: ${name} -->\n\n`;
    const end = "\n<!-- end of options -->";
    const from = text.indexOf(begin) + begin.length;
    const to = text.indexOf(end, from);
    if (from < begin.length || to < 0) throw new Error(`docs/options.md has no ${begin.trim()}`);
    return text.slice(0, from) + table + text.slice(to);
  }, page);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const tables = await optionTables();
  if (process.argv[2] === "--write") {
    writeFileSync(kPage, withTables(readFileSync(kPage, "utf8"), tables));
  } else {
    process.stdout.write(Object.values(tables).join("\n"));
  }
}
