// What a built ELF file asks of the machine it will run on, as binutils tell it.
import { runQuietly } from "./run.mjs";

/** Dynamic symbols, as readelf(1) lists them, which reads files of every architecture. */
function dynamicSymbols(file) {
  const table = runQuietly("readelf", ["--dyn-syms", "--wide", file]);
  const row =
    /^\s*\d+: .* (?:LOCAL|GLOBAL|WEAK|UNIQUE) +\w+ +(UND|ABS|\d+) ([^@\s]+)(?:@+(\S+))?/gm;
  return [...table.matchAll(row)].map(([, section, name, version]) => ({ section, name, version }));
}

const isUndefined = ({ section }) => section === "UND";

/** Versioned symbols that must come from elsewhere: [{ symbol, library: "GLIBC", version: "2.17" }]. */
export const requiredSymbols = (file) =>
  dynamicSymbols(file)
    .filter(isUndefined)
    .flatMap(({ name, version = "" }) => {
      const [, library, number] = /^(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)$/.exec(version) ?? [];
      return library === undefined ? [] : [{ symbol: name, library, version: number }];
    });

/** Names of all symbols that must come from elsewhere, of whatever version. */
export const undefinedSymbols = (file) =>
  dynamicSymbols(file)
    .filter(isUndefined)
    .map(({ name }) => name);

/** Names of all symbols that others in the process can see. */
export const exportedSymbols = (file) =>
  dynamicSymbols(file)
    .filter((symbol) => !isUndefined(symbol))
    .map(({ name }) => name);

/** The processor, in readelf's words: "Advanced Micro Devices X86-64", "AArch64". */
export const machineOf = (file) =>
  /^\s*Machine:\s+(.*)$/m.exec(runQuietly("readelf", ["--file-header", file]))?.[1].trim();

/** What a loader does beyond the usual: directories of its own to look in, memory that is written and executed. */
export function oddities(file) {
  const dynamic = runQuietly("readelf", ["--dynamic", "--wide", file]);
  const segments = runQuietly("readelf", ["--segments", "--wide", file]);
  return [
    ...[...dynamic.matchAll(/\((RPATH|RUNPATH|TEXTREL)\)/g)].map(([, name]) => name),
    ...(/GNU_STACK.*\bRWE\b/.test(segments) ? ["an executable stack"] : []),
    ...(/^\s*LOAD.*\bRWE\b/m.test(segments) ? ["a segment that is written and executed"] : []),
  ];
}

export function neededLibraries(file) {
  const section = runQuietly("readelf", ["--dynamic", "--wide", file]);
  return [...section.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name);
}

/** No program interpreter: nothing of the machine's loader or libraries is used. */
export const isStatic = (file) =>
  !/^\s*INTERP\b/m.test(runQuietly("readelf", ["--segments", "--wide", file]));

export function compareVersions(left, right) {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
