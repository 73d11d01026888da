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
