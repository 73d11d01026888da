import { existsSync } from "node:fs";

/**
 * The list, or undefined when it is the default: a runner skips a default that the host lacks, and
 * insists on what is named.
 */
export function unlessDefault(
  list: readonly string[],
  defaults: readonly string[],
): readonly string[] | undefined {
  const same = list.length === defaults.length && list.every((item, at) => item === defaults[at]);
  return same ? undefined : list;
}

/** The same with more: then all must exist, so that of the defaults only those are taken that do. */
export function extended(
  list: readonly string[],
  defaults: readonly string[],
  more: readonly string[],
): readonly string[] | undefined {
  const named = unlessDefault(list, defaults);
  if (more.length === 0) return named;
  return [...(named ?? defaults.filter((path) => existsSync(path))), ...more];
}
