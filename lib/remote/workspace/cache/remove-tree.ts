import { chmodSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Lets the owner into every directory: commands and overlayfs leave some that keep everybody out. */
function open(directory: string): void {
  chmodSync(directory, 0o700);
  for (const { name } of readdirSync(directory, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )) {
    open(join(directory, name));
  }
}

/** Removes a tree that is this process' own, whatever commands have left in it; goes through no link. */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code !== "EACCES" && code !== "ENOTEMPTY") || !lstatSync(path).isDirectory()) throw error;
    open(path);
    rmSync(path, { recursive: true, force: true });
  }
}
