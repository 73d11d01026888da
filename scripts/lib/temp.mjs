// Temporary directories that go away with the script, however it ends (but for SIGKILL).
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const directories = new Set();

function removeAll() {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}

function removeAtExit() {
  process.once("exit", removeAll);
  const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
  for (const [signal, number] of Object.entries(signals)) {
    process.once(signal, () => process.exit(128 + number));
  }
}

export function tempDirectory(name) {
  if (directories.size === 0) removeAtExit();
  const directory = mkdtempSync(path.join(os.tmpdir(), `native-runner-${name}-`));
  directories.add(directory);
  return directory;
}
