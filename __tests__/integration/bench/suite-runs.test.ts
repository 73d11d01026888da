/** The suite of benchmarks runs; what it measures in so short a time is no result. */

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

/** Far more than it takes, some 30 s. */
const kSuiteMs = 8 * kHungMs;
const kSuite = fileURLToPath(new URL("../../../bench/suite.mjs", import.meta.url));

describeSandboxed("the suite of benchmarks", () => {
  test(
    "measures each variant of one run, and what a home costs",
    () => {
      const file = join(tempDirectory(), "results.json");
      const names = ["one-run", "home-cold", "home-cloned"];
      const program = join(tempDirectory(), "bench.mjs");
      writeFileSync(
        program,
        `import { main } from ${JSON.stringify(kSuite)};\nprocess.exitCode = await main(process.argv.slice(2));\n`,
      );
      const args = ["--quick", "--json", file, ...names.flatMap((name) => ["--only", name])];
      const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
        encoding: "utf8",
        timeout: kSuiteMs,
      });
      expect(status, stderr).toBe(0);
      const { scenarios } = JSON.parse(readFileSync(file, "utf8"));
      expect(scenarios.map(({ name }: { name: string }) => name)).toEqual(names);
    },
    kSuiteMs,
  );
});
