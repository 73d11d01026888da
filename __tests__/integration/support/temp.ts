/** Temporary directories that are gone when the tests of a file are. */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const made: string[] = [];

/** With what shuts its owner out, as overlayfs' own directory does. */
function remove(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    spawnSync("chmod", ["-R", "u+rwx", directory]);
    rmSync(directory, { recursive: true, force: true });
  }
}

afterAll(() => {
  for (const directory of made.splice(0)) remove(directory);
});

/** A new directory; `parent` defaults to the host's temporary directory. */
export function tempDirectory(name = "work", parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, `native-runner-${name}-`));
  chmodSync(directory, 0o755);
  made.push(directory);
  return directory;
}
