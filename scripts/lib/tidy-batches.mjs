// Which sources clang-tidy looks at together.

const kFilesABatch = 10;

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

/** Entries with the same flags, `size` at a time. */
export function batchesOf(entries, size = kFilesABatch) {
  const groups = groupBy(entries, flagsOf);
  return [...groups.values()].flatMap((group) => {
    // As many as are needed, all about equally large: they run side by side.
    const count = Math.ceil(group.length / size);
    return Array.from({ length: count }, (_, at) =>
      group.filter((_, index) => index % count === at),
    );
  });
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

/**
 * Whether a batch must be looked at in parts: files may use the same name for different things, in
 * anonymous namespaces, which does not compile in one source.
 */
export const splits = (output) => /\[clang-diagnostic-error\]/.test(output);
