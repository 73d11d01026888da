// What a built ELF file asks of the machine it will run on, as binutils tell it.
import { runQuietly } from "./run.mjs";

/** Versioned symbols that must come from elsewhere: [{ symbol, library: "GLIBC", version: "2.17" }]. */
export function requiredSymbols(file) {
  const table = runQuietly("objdump", ["--dynamic-syms", file]);
  return [...table.matchAll(/\*UND\*.*?\(?(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)\)?\s+(\S+)$/gm)].map(
    ([, library, version, symbol]) => ({ symbol, library, version }),
  );
}

/** Names of all symbols that must come from elsewhere, of whatever version. */
export const undefinedSymbols = (file) =>
  [...runQuietly("nm", ["-D", "--undefined-only", file]).matchAll(/\s[Uw] ([^@\s]+)/g)].map(
    ([, name]) => name,
  );

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
