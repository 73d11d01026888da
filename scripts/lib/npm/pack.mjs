// `npm pack`, and what npm says of the tarball that it has made.
import { runQuietly } from "../run.mjs";

/** @returns {{ filename: string, size: number, unpackedSize: number, files: { path: string, size: number }[] }} */
export function npmPack(directory, options = {}) {
  const words = ["pack", "--json", "--loglevel=error", "--pack-destination", directory];
  const listing = runQuietly("npm", words, options);
  // prepack's own output comes first; npm 12 keys the entries by package name.
  const [entry] = Object.values(JSON.parse(listing.slice(listing.search(/^[[{]\s*$/m))));
  return entry;
}
