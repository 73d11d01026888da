/** Which runtimes this host can have. A suite for one that it can't says why, and is skipped. */

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { RuntimeAvailability, RuntimeName } from "../../../lib/index.js";
import { availableRuntimes } from "../../../lib/index.js";
import { describeUnless } from "./requirements.js";
import { tempDirectory } from "./temp.js";

const reports = await availableRuntimes({}, { environment: {} });

export function availabilityOf(name: RuntimeName): RuntimeAvailability {
  const report = reports.find((each) => each.name === name);
  if (report === undefined) throw new Error(`no report of ${name}`);
  return report;
}

/** Why a runtime can't be had here; undefined when it can. */
export function whyNo(name: RuntimeName): string | undefined {
  const { available, reason = "not available" } = availabilityOf(name);
  return available ? undefined : `${name}: ${reason}`;
}

/** Why no untrusted skill can run here; undefined when one can. */
export function whyNoSecondWall(): string | undefined {
  const lacks = [whyNo("bubblewrap"), whyNo("landlock")];
  return lacks.includes(undefined) ? undefined : lacks.join("; ");
}

/** The path of a bwrap whose --help does not list an option: the package then does without it. */
export function bwrapWithout(option: string): string {
  const path = join(tempDirectory("stub"), "bwrap");
  const help = `bwrap --help | grep -v -e ${option}`;
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --help ] && { ${help}; exit; }\nexec bwrap "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

/** `describe` for tests that need this runtime to work here. */
export function describeRuntime(name: RuntimeName, body: () => void): void {
  describeUnless(whyNo(name), name, body);
}
