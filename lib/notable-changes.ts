/** Which changes of a transaction count for people. Pure. */

type Counted = { path: string; type: string; kind: string };

/** Returns the changes to show: a directory is shown only if no changed path lies inside it. */
export function notableChanges<Each extends Counted>(changes: readonly Each[]): readonly Each[] {
  const parents = new Set<string>();
  for (const { path } of changes) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const above = path.slice(0, end);
      if (parents.has(above)) break;
      parents.add(above);
    }
  }
  return changes.filter(
    ({ path, type, kind }) => type !== "directory" || kind === "modified" || !parents.has(path),
  );
}
