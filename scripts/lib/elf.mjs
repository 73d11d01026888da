// What a built ELF file asks of the machine it will run on, as binutils tell it.
import { runQuietly } from "./run.mjs";

/** Dynamic symbols, as readelf(1) lists them, which reads files of every architecture. */
function dynamicSymbols(file) {
  const table = runQuietly("readelf", ["--dyn-syms", "--wide", file]);
  const row = /^\s*\d+: .* (LOCAL|GLOBAL|WEAK|UNIQUE) +\w+ +(UND|ABS|\d+) ([^@\s]+)(?:@+(\S+))?/gm;
  return [...table.matchAll(row)].map(([, binding, section, name, version]) => ({
    binding,
    section,
    name,
    version,
  }));
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

/** Names of all symbols that others in the process can see. Local ones are of sections, which arm64 lists too. */
export const exportedSymbols = (file) =>
  dynamicSymbols(file)
    .filter((symbol) => !isUndefined(symbol) && symbol.binding !== "LOCAL")
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

/** The newest versions that an addon may ask for: those of Debian 10 and RHEL 8, on which Node 20 runs. */
export const newest = { GLIBC: "2.28", GLIBCXX: "3.4.25", CXXABI: "1.3.11", GCC: "7.0.0" };

/** The names of musl itself: in every musl, and Alpine's. */
export const kMusl = /^libc\.(so$|musl-)/;

/** What an addon needs from outside: what of it is too much, and the glibc it wants; undefined: it wants musl. */
export function outsideOf(addon) {
  const ofTheHost = undefinedSymbols(addon).filter((name) =>
    /^(uv_|_ZNK?2v8|_ZN4node|napi_get_uv_event_loop)/.test(name),
  );
  const complaints = ofTheHost.map((name) => `the addon needs ${name} of its host`);
  if (neededLibraries(addon).some((name) => kMusl.test(name))) {
    return { complaints, glibc: undefined };
  }
  const symbols = requiredSymbols(addon);
  for (const { symbol, library, version } of symbols) {
    if (compareVersions(version, newest[library]) <= 0) continue;
    complaints.push(
      `the addon needs ${symbol}@${library}_${version}: newer than glibc ${newest.GLIBC} or libstdc++ of GCC 8 has`,
    );
  }
  const needs = symbols.filter(({ library }) => library === "GLIBC").map(({ version }) => version);
  return { complaints, glibc: needs.sort(compareVersions).at(-1) ?? "none" };
}
