// Refuses includes and imports against the arrows in arrows.mjs. (CMake's targets keep the rooms'
// code apart, this keeps their headers and modules apart.)
//   node scripts/checks/includes.mjs [DIRECTORY]     with native/, lib/ and types/; else this project
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../lib/project.mjs";
import { fail } from "../lib/run.mjs";
import { imports, includes, systemIncludes } from "./arrows.mjs";

/** The row that a path without its ending is in: its own, its folder's, or that of one above. */
function rowOf(table, name) {
  if (Object.hasOwn(table, name)) return name;
  const folder = path.posix.dirname(name);
  if (Object.hasOwn(table, folder)) return folder;
  for (let above = folder; above !== "."; above = path.posix.dirname(above)) {
    if (Object.hasOwn(table, `${above}/`)) return `${above}/`;
  }
  return undefined;
}

const allows = (names, used) =>
  names
    .split(" ")
    .some((name) => name === used || (name.endsWith("/") && `${used}/`.startsWith(name)));

/** What is wrong with a use of `used` (a path without its ending) in a file of `row`, if anything. */
function wrongUse(table, row, used) {
  const usedRow = rowOf(table, used);
  if (usedRow === undefined && !allows(table[row], used)) return "which is in no room";
  if (usedRow === row || allows(table[row], usedRow ?? used) || allows(table[row], used)) {
    return undefined;
  }
  return `which is of ${usedRow}`;
}

const withoutEnding = (file) => file.replace(/(\.d)?\.[a-z]+$/, "");

function filesIn(directory, folder, ending) {
  return readdirSync(path.join(directory, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .sort();
}

function wrongInclude(row, included) {
  if (included.startsWith('"')) {
    return wrongUse(includes, row, withoutEnding(included.slice(1, -1)));
  }
  const [, rooms] =
    Object.entries(systemIncludes).find(([start]) => included.startsWith(start)) ?? [];
  return rooms === undefined || allows(rooms, row) ? undefined : `which is for ${rooms} alone`;
}

function wrongImport(row, file, specifier) {
  if (specifier.startsWith("node:")) return undefined;
  const used = specifier.startsWith(".")
    ? withoutEnding(path.posix.join(path.posix.dirname(file), specifier))
    : specifier;
  return wrongUse(imports, row, used);
}

/** Line by line, what is included or imported in a text. */
function* usesIn(text, pattern) {
  for (const match of text.matchAll(pattern)) {
    yield { line: text.slice(0, match.index).split("\n").length, used: match[1] };
  }
}

const kInclude = /^[ \t]*#[ \t]*include[ \t]+(\S+)/gm;
const kImport = /(?:^(?:import|export)\b(?:[^"'`;=]*?\bfrom)?\s*|\bimport\(\s*)"([^"\n]+)"/gm;

/** All that is against the arrows in a directory with native/, lib/ and types/, a line each. */
export function againstTheArrows(directory) {
  const found = [];
  const look = (file, table, name, pattern, wrong) => {
    const row = rowOf(table, withoutEnding(name));
    if (row === undefined) {
      found.push(`${file}: its folder has no row in scripts/checks/arrows.mjs`);
      return;
    }
    for (const { line, used } of usesIn(
      readFileSync(path.join(directory, file), "utf8"),
      pattern,
    )) {
      const why = wrong(row, used);
      if (why !== undefined) found.push(`${file}:${line}: ${row} must not use ${used}, ${why}`);
    }
  };
  for (const file of filesIn(directory, "native", /\.(h|hpp|c|cc|cpp|inc)$/)) {
    look(file, includes, file.slice("native/".length), kInclude, wrongInclude);
  }
  for (const file of ["lib", "types"].flatMap((room) => filesIn(directory, room, /\.m?ts$/))) {
    look(file, imports, file, kImport, (row, used) => wrongImport(row, file, used));
  }
  return found;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const found = againstTheArrows(path.resolve(process.argv[2] ?? root));
  for (const line of found) console.error(line);
  if (found.length > 0) fail(`includes: ${found.length} against the arrows`);
}
