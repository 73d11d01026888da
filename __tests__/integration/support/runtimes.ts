/** Which runtimes this host can have. A suite for one that it can't says why, and is skipped. */

import { describe, type TestContext, test } from "vitest";

import type { RuntimeAvailability, RuntimeName } from "../../../lib/index.js";
import { availableRuntimes } from "../../../lib/index.js";

const reports = await availableRuntimes({}, { environment: {} });

export function availabilityOf(name: RuntimeName): RuntimeAvailability {
  const report = reports.find((each) => each.name === name);
  if (report === undefined) throw new Error(`no report of ${name}`);
  return report;
}

/** `describe` for tests that need this runtime to work here. */
export function describeRuntime(name: RuntimeName, body: () => void): void {
  const { available, reason = "not available" } = availabilityOf(name);
  if (available) {
    describe(name, body);
    return;
  }
  process.stderr.write(`skipped: ${name}: ${reason}\n`);
  describe(name, () => {
    test("needs it to work here", (context: TestContext) => context.skip(reason));
  });
}
