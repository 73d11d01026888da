/** A home whose package caches are shown: below /var/tmp, since /tmp is private. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished, vi } from "vitest";

import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeExecInput,
  type SandboxedExecResult,
} from "../support/package.js";
import { tempDirectory } from "../support/temp.js";

export type Runs = { exec(input: NativeExecInput): Promise<SandboxedExecResult> };
export type Options = Partial<BubblewrapNativeRunnerOptions>;

/** Variables that move caches; those of the user who runs the tests would. */
const kMoving = [
  "npm_config_cache",
  "XDG_CACHE_HOME",
  "XDG_DATA_HOME",
  "PNPM_HOME",
  "YARN_CACHE_FOLDER",
  "YARN_GLOBAL_FOLDER",
  "CARGO_HOME",
  "CCACHE_DIR",
  "GOPATH",
  "GOMODCACHE",
  "GOCACHE",
];

/** A home of the host's, and a workspace; both go away with the tests of the file. */
export function cacheHome() {
  const home = tempDirectory("caches", "/var/tmp");
  vi.stubEnv("HOME", home);
  for (const name of kMoving) vi.stubEnv(name, undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  const shadowDir = tempDirectory("caches");
  return {
    home,
    shadowDir,
    /** Writes a file below the home. */
    put: (path: string, text: string): string => {
      const file = join(home, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    runnerOf: (options: Options = {}): BubblewrapNativeRunner => {
      const runner = new BubblewrapNativeRunner({ shadowDir, ...options });
      onTestFinished(() => runner.close());
      return runner;
    },
  };
}

/** What a line of the shell prints. */
export async function sh(runs: Runs, line: string, more: Partial<NativeExecInput> = {}) {
  const result = await runs.exec({ argv: ["sh", "-c", line], ...more });
  return `${result.stdoutText}${result.stderrText}`;
}
