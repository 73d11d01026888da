// Which sources clang-tidy looks at together.
import { givenNames, givenTypes, givesC } from "./given-names.mjs";

const kFilesABatch = 24;
const kNone = new Set();

/** So named, the static analyzer looks into the sources that it includes as into a main file. */
export const kBatchName = "UnifiedSource.cpp";

/** Whether a text includes a file that is no header. */
export const includesSource = (text) => /^\s*#\s*include\s+["<].*\.(c|cc|cpp)[">]/m.test(text);

/** The flags of an entry of a compile database, without what names the file. */
export const flagsOf = ({ command, file }) =>
  command
    .replaceAll(file, "")
    .replace(/ -o \S+/, "")
    .replace(/ -c\b/, "")
    .trim();

/**
 * Entries with the same flags, at most `size` together. Files that give the same name to different
 * things, each in an anonymous namespace, would not compile as one source: they are kept apart, and a
 * file that gives a name of a header's that others may include (`takenBy(file)`) is alone.
 */
export function batchesOf(entries, { size = kFilesABatch, takenBy, textOf } = {}) {
  const groups = groupBy(entries, flagsOf);
  return [...groups.values()].flatMap((group) => {
    const alone = [];
    // As many as are needed, all about equally large: they run side by side.
    const batches = Array.from({ length: Math.ceil(group.length / size) }, newBatch);
    for (const entry of group) {
      const text = textOf?.(entry.file) ?? "";
      const taken = takenBy?.(entry.file) ?? kNone;
      if (givesC(text) || givenTypes(text).some((name) => taken.has(name))) alone.push([entry]);
      else place(entry, givenNames(text), batches, size);
    }
    return [...batches.map((batch) => batch.entries), ...alone].filter(({ length }) => length > 0);
  });
}

const newBatch = () => ({ entries: [], names: new Set() });

/** Puts an entry into the smallest batch that has room for it and none of its names. */
function place(entry, names, batches, size) {
  const fits = batches
    .filter((batch) => batch.entries.length < size && !names.some((name) => batch.names.has(name)))
    .sort((one, other) => one.entries.length - other.entries.length);
  const batch = fits[0] ?? newBatch();
  if (fits.length === 0) batches.push(batch);
  batch.entries.push(entry);
  for (const name of names) batch.names.add(name);
}

/** Map.groupBy, which Node 20 lacks. */
function groupBy(entries, keyOf) {
  const groups = new Map();
  for (const entry of entries) {
    const key = keyOf(entry);
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  return groups;
}

/** The source that stands for a batch. */
export const sourceOf = (batch) => batch.map(({ file }) => `#include "${file}"\n`).join("");

/** Whether a batch must be looked at in parts: it does not compile as one source all the same. */
export const splits = (output) => /\[clang-diagnostic-error\]/.test(output);
