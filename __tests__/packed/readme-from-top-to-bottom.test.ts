/**
 * What a newcomer does: README from top to bottom in an empty directory, with the package from its tarball. Only
 * `npm run check -- pack` runs it, which makes the tarball.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { blocksOf } from "../integration/docs/code-blocks.js";
import { makePlace } from "../integration/docs/example-directory.js";
import { runExample } from "../integration/docs/run-example.js";
import { kRoot } from "../support/run-tsc.js";

const tarball = process.env.NATIVE_RUNNER_TARBALL;
if (tarball === undefined)
  throw new Error("NATIVE_RUNNER_TARBALL is not set: run the check `pack`");

const install = (directory: string): void => {
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", tarball];
  execFileSync("npm", args, { cwd: directory, stdio: ["ignore", "inherit", "inherit"] });
};

test("README works from top to bottom in an empty directory", async () => {
  const blocks = blocksOf("README.md", readFileSync(join(kRoot, "README.md"), "utf8"));
  const run = blocks.filter(({ directives }) => !directives.has("not run"));
  expect(run.length).toBeGreaterThanOrEqual(3);
  const place = makePlace({ install });
  await runExample(blocks, place);
});
