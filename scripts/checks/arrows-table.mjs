// The arrows of arrows.mjs as the table of docs/architecture.md. __tests__/docs/arrows.test.ts fails
// when the page has another.
//   node scripts/checks/arrows-table.mjs --write     updates the page; else prints the table
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { inRoot } from "../lib/project.mjs";
import { includes } from "./arrows.mjs";

const kPage = inRoot("docs/architecture.md");
const kTable = /(<!-- table: arrows -->\n\n)[\s\S]*?(\n<!-- end of table -->)/;

const roomOf = (name) => name.split("/", 1)[0];
const withoutSlash = (name) => name.replace(/\/$/, "");
const code = (names) => names.map((name) => `\`${name}\``).join(", ");

/** "policy/" is all of the room, "policy/text" a folder of it; without the room's name. */
const inRoom = (name) => withoutSlash(name.slice(roomOf(name).length + 1));

/** What the cells of a row hold: the row's name, and what it may use. */
function cellsOf(row) {
  const room = roomOf(row);
  const used = includes[row].split(" ").filter(Boolean);
  const own = used.filter((name) => roomOf(name) === room).map((name) => inRoom(name) || "all");
  const others = used.filter((name) => roomOf(name) !== room).map(withoutSlash);
  return { room, name: inRoom(row) || "all", uses: `${code(own.sort())} | ${code(others.sort())}` };
}

/** The folders of native/, and files that stand above those of a room; alike ones are one line. */
export function arrowsTable() {
  const rows = [];
  for (const { room, name, uses } of Object.keys(includes).map(cellsOf)) {
    const last = rows.at(-1);
    if (last?.room === room && last.uses === uses) last.names.push(name);
    else rows.push({ room, names: [name], uses });
  }
  const lines = rows.map(
    ({ room, names, uses }) => `| ${code([room])} | ${code(names)} | ${uses} |\n`,
  );
  return `| room | folder or file | may use of its room | of others |\n|---|---|---|---|\n${lines.join("")}`;
}

/** The page with this table between its marks. */
export function withTable(page, table) {
  if (!kTable.test(page)) throw new Error("docs/architecture.md has no <!-- table: arrows -->");
  return page.replace(kTable, (_, begin, end) => begin + table + end);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  if (process.argv[2] === "--write") {
    writeFileSync(kPage, withTable(readFileSync(kPage, "utf8"), arrowsTable()));
  } else {
    process.stdout.write(arrowsTable());
  }
}
