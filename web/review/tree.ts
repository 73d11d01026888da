/** The changes as rows of a directory tree. Pure. */

import type { ReviewChange } from "./model.js";

export type Row = {
  /** Path of the directory, or of the change. */
  path: string;
  /** The part of the path that is shown: a chain of single directories is one row. */
  name: string;
  depth: number;
  /** Paths of the entries below, for a directory. */
  below?: string[];
  change?: ReviewChange;
};

type Place = {
  path: string;
  places: Map<string, Place>;
  changes: ReviewChange[];
  own?: ReviewChange;
};

function placesOf(changes: readonly ReviewChange[]): Place {
  const top: Place = { path: "", places: new Map(), changes: [] };
  for (const change of changes) {
    const isDirectory = change.type === "directory";
    const steps = change.path === "." ? [] : change.path.split("/");
    const names = isDirectory ? steps : steps.slice(0, -1);
    let place = top;
    for (const name of names) {
      let next = place.places.get(name);
      if (next === undefined) {
        next = {
          path: place.path === "" ? name : `${place.path}/${name}`,
          places: new Map(),
          changes: [],
        };
        place.places.set(name, next);
      }
      place = next;
    }
    if (isDirectory) place.own = change;
    else place.changes.push(change);
  }
  return top;
}

function pathsOf(place: Place): string[] {
  const paths = place.own === undefined ? [] : [place.own.path];
  for (const inner of place.places.values()) for (const path of pathsOf(inner)) paths.push(path);
  for (const { path } of place.changes) paths.push(path);
  return paths;
}

/** Returns the changes whose path has all words of a filter, in upper or lower case; all for an empty filter. */
export function filtered(
  changes: readonly ReviewChange[],
  filter: string,
): readonly ReviewChange[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return changes;
  return changes.filter(({ path, from = "" }) => {
    const names = `${path}\n${from}`.toLowerCase();
    return words.every((word) => names.includes(word));
  });
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Returns the rows: directories first, each followed by its entries unless it is closed. */
export function rowsOf(changes: readonly ReviewChange[], closed: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const add = (place: Place, depth: number) => {
    for (const inner of place.places.values()) addDirectory(inner, depth);
    for (const change of place.changes) {
      rows.push({ path: change.path, name: nameOf(change.path), depth, change });
    }
  };
  const addDirectory = (place: Place, depth: number) => {
    let last = place;
    let name = nameOf(place.path);
    for (;;) {
      const [only, ...others] = last.places.values();
      if (only === undefined || others.length > 0 || last.changes.length > 0 || last.own) break;
      last = only;
      name = `${name}/${nameOf(only.path)}`;
    }
    const row: Row = { path: last.path, name, depth, below: pathsOf(last) };
    if (last.own) row.change = last.own;
    rows.push(row);
    if (!closed.has(last.path)) add(last, depth + 1);
  };
  const top = placesOf(changes);
  if (top.own) rows.push({ path: ".", name: ".", depth: 0, change: top.own, below: ["."] });
  add(top, 0);
  return rows;
}
