// A Vitest reporter beside the one that prints: writes how many tests passed, and each that failed or
// was skipped with its reason, and each file's seconds, as JSON to the file named in COUNTS_FILE.
import { writeFileSync } from "node:fs";

const messageOf = (error) => String(error?.message ?? error);

/** Why it was skipped, or what it failed with. */
function reasonOf(test) {
  const { state, note, errors } = test.result();
  return state === "failed" ? errors.map(messageOf).join("; ") : (note ?? "");
}

function entryOf(test) {
  const suites = [];
  for (let parent = test.parent; parent?.type === "suite"; parent = parent.parent) {
    suites.unshift(parent.name);
  }
  return { name: [...suites, test.name].join(" > "), reason: reasonOf(test) };
}

// biome-ignore lint/style/noDefaultExport: Vitest loads reporters so
export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const failed = unhandledErrors.map((error) => ({
      name: "outside of tests",
      reason: messageOf(error),
    }));
    const counts = { passed: 0, failed, skipped: [], files: [] };
    for (const module of modules) {
      const { duration, collectDuration } = module.diagnostic();
      const name = module.relativeModuleId;
      counts.files.push({ name, seconds: (duration + collectDuration) / 1000 });
      const tests = [...module.children.allTests()];
      for (const test of tests) {
        const { state } = test.result();
        if (state === "passed") counts.passed += 1;
        else (state === "failed" ? counts.failed : counts.skipped).push(entryOf(test));
      }
      // A file that could not be loaded has no tests to count.
      for (const error of module.errors()) {
        counts.failed.push({ name, reason: messageOf(error) });
      }
    }
    writeFileSync(process.env.COUNTS_FILE, JSON.stringify(counts));
  }
}
