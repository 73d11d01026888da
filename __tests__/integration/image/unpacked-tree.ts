/** What an unpacked tree has, to compare: names as bytes ("latin1"), in order. */

import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A line for each entry: kind, mode, seconds, contents; hard links are named by the first of them. */
export function treeLines(directory: string): Record<string, string> {
  const lines: Record<string, string> = {};
  const seen = new Map<number, string>();
  const look = (path: string, relative: string) => {
    const bytes = Buffer.from(path, "latin1");
    const status = lstatSync(bytes);
    const seconds = Math.floor(status.mtimeMs / 1000);
    const about = `${(status.mode & 0o7777).toString(8)} ${seconds}`;
    if (status.isDirectory()) {
      lines[relative || "."] = `directory ${about}`;
      for (const name of readdirSync(bytes, "latin1").sort()) {
        look(`${path}/${name}`, relative === "" ? name : `${relative}/${name}`);
      }
    } else if (status.isSymbolicLink()) {
      lines[relative] = `symlink ${seconds} ${readlinkSync(bytes, "latin1")}`;
    } else if (status.isFile()) {
      const first = seen.get(status.ino);
      seen.set(status.ino, first ?? relative);
      const hash = createHash("sha256").update(readFileSync(bytes)).digest("hex").slice(0, 12);
      lines[relative] =
        first === undefined ? `file ${about} ${status.size} ${hash}` : `link ${first}`;
    } else lines[relative] = `${status.isFIFO() ? "fifo" : "other"} ${about}`;
  };
  look(Buffer.from(directory).toString("latin1"), "");
  return lines;
}

/** The same without times, which not all tools keep. */
export function timelessLines(directory: string): Record<string, string> {
  const lines = Object.entries(treeLines(directory));
  return Object.fromEntries(
    lines.map(([path, line]) => [
      path,
      line.replace(/^(directory|file|fifo) (\d+) \d+/, "$1 $2").replace(/^symlink \d+/, "symlink"),
    ]),
  );
}
