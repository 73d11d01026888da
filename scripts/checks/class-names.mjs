// No two classes of namespace native_runner have one name, in folders that are linked into one binary: the linker keeps
// one of two inline functions without a word (the one-definition rule).
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { nativeFiles } from "../lib/native-sources.mjs";
import { fail } from "../lib/run.mjs";

const kClass = /^(?:class|struct) (\w+)(?: final)?(?: :[^{;]*)? ?\{/gm;

const kOpens = /^namespace (?:native_runner::\w+ )?\{$/;
const kCloses = /^\} {2}\/\/ namespace(?: native_runner::\w+)?$/;

/** Returns a source without what is in unnamed or nested namespaces. */
function outermost(text) {
  let depth = 0;
  const lines = text.split("\n").filter((line) => {
    if (kOpens.test(line)) depth += 1;
    else if (kCloses.test(line) && depth > 0) depth -= 1;
    else return depth === 0;
    return false;
  });
  return lines.join("\n");
}

/**
 * Returns [name, files] for each name that classes of several files have.
 * @param sources [path, text] of each
 */
export function repeatedNames(sources) {
  const files = new Map();
  for (const [path, text] of sources) {
    for (const [, name] of outermost(text).matchAll(kClass)) {
      files.set(name, new Set([...(files.get(name) ?? []), path]));
    }
  }
  return [...files].filter(([, all]) => all.size > 1).map(([name, all]) => [name, [...all]]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const sources = nativeFiles()
    .filter((path) => !path.includes("native/tests/"))
    .map((path) => [path, readFileSync(path, "utf8")]);
  const isLauncher = ([path]) => path.includes("native/launcher/");
  const binaries = [sources.filter(isLauncher), sources.filter((each) => !isLauncher(each))];
  const repeated = binaries.flatMap(repeatedNames);
  if (repeated.length > 0) {
    fail(
      repeated.map(([name, files]) => `${name} is a class in ${files.join(" and ")}`).join("\n"),
    );
  }
}
