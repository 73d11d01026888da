// A Vitest reporter beside the one that prints: writes the run's counts, and every skipped test with
// its reason, as JSON to the file named in COUNTS_FILE.
import { writeFileSync } from "node:fs";

const ownReason = (test) => test.result()?.note ?? "";

function skippedEntry(test) {
  const suites = [];
  for (let parent = test.parent; parent?.type === "suite"; parent = parent.parent) {
    suites.unshift(parent.name);
  }
  return { name: [...suites, test.name].join(" > "), reason: ownReason(test) };
}

// biome-ignore lint/style/noDefaultExport: Vitest loads reporters so
export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      for (const test of tests) {
        const { state } = test.result();
        if (state === "passed") counts.passed += 1;
        else if (state === "failed") counts.failed += 1;
        else counts.skipped.push(skippedEntry(test));
      }
      // A file that could not be loaded has no tests to count.
      if (module.errors().length > 0) counts.failed += 1;
    }
    writeFileSync(process.env.COUNTS_FILE, JSON.stringify(counts));
  }
}
