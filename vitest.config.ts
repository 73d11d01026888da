import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isSanitized } from "./__tests__/support/sanitized.js";
import { kHungMs } from "./__tests__/support/waits.js";

// An `npm run` around the tests tells every npm below it where its cache is, and to be silent. They have none.
for (const name of Object.keys(process.env)) {
  if (name.startsWith("npm_")) delete process.env[name];
}

/** The files that take longest, though some are short: where one starts last, the rest wait for it. */
const kLongest = [
  "home/everyday-jobs",
  "transaction/coarse-times",
  "skills/skill-outcomes",
  "runs/ending-at-any-moment",
  "docs/examples-of-pages",
  "session/session-gigabytes",
  "cli/run-explain-and-doctor-agree",
  "promises/promises-firejail",
  "promises/session-promises",
  "spawn/spawn-pipes",
  "skills/skill-components",
  "prewarm/standing-sandboxes",
  "session/session-ending",
  "demo-node/hostile-model",
  "runs/deadline",
  "runs/worker-threads",
  "runtime/runtime-doctor",
].map((name) => `/__tests__/integration/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      kLongest.findIndex((name) => moduleId.endsWith(name)) + 1 || kLongest.length + 1;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** Those that between them go every way through our native code: under a sanitizer, which sees nothing of the rest. */
const kNative = [
  "clones/!(template-leaves-nothing).test.ts",
  "denials/denial-and-least-grant.test.ts",
  "files/**/*.test.ts",
  "leases/lease-of-running-host.test.ts",
  "network/!(real-clients).test.ts",
  "prewarm/*.test.ts",
  "project/project-access.test.ts",
  "root/root-directory.test.ts",
  "runs/*.test.ts",
  "session/session-command.test.ts",
  "session/session-ending.test.ts",
  "spawn/*.test.ts",
  "transaction/transaction-{changes,checkpoint,copy,diff,keeps-host-unchanged,sees-host-changes}.test.ts",
  "transaction/commit/*.test.ts",
].map((name) => `__tests__/integration/${name}`);

/**
 * The suites run as an ordinary user. Where root runs them, first as root and then as a user, root runs the files alone whose
 * first line is `// As root too: why`, and with `npm run check:deep` those whose first line is the second of these.
 */
const kAsRootToo = { "1": "// As root too: ", deep: "// As root too, in check:deep: " };

function asRootToo(when: keyof typeof kAsRootToo): string[] {
  const directory = "__tests__/integration";
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `${directory}/${name}`)
    .filter((file) => readFileSync(file, "utf8").startsWith(kAsRootToo[when]));
}

/** Of the stress suites some run as root and some as a user, each half about as long. */
const kStressAsUser = ["chaos.test.ts", "mcp/**", "remote/**"].map(
  (name) => `__tests__/stress/${name}`,
);
const kStressAsRoot = [
  "clones/many-runs-in-clones.test.ts",
  "many-runs-at-once.test.ts",
  "growth.test.ts",
  "session-growth.test.ts",
  "transactions/many-changed-files.test.ts",
].map((name) => `__tests__/stress/${name}`);

/** So that a wait that is in vain says what for, before its test is given up. */
const kTestMs = 2 * kHungMs;

/** As many rounds as somebody asks for take as long as they take. */
const kStressMs = process.env.NATIVE_RUNNER_ROUNDS === undefined ? 600_000 : 6 * 3_600_000;

const { NATIVE_RUNNER_ALSO_AS_USER: isAlsoAsUser, NATIVE_RUNNER_ALSO_AS_ROOT: isAlsoAsRoot } =
  process.env;
const kAll = ["__tests__/integration/**/*.test.ts"];
const asRoot = isAlsoAsUser === "deep" ? asRootToo("deep") : asRootToo("1");
const integration = isSanitized ? kNative : isAlsoAsUser ? asRoot : kAll;

/** One project per kind of test; folders under __tests__ mirror lib. No retries anywhere. */
export default defineConfig({
  test: {
    pool: "forks",
    sequence: { sequencer: LongestFirst },
    maxWorkers: availableParallelism(),
    // What was seen, whole: a failure that comes once in a hundred runs may never be seen again.
    chaiConfig: { truncateThreshold: 2_000 },
    expect: { poll: { timeout: kHungMs } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["__tests__/**/*.test.ts"],
          exclude: ["integration", "packed", "stress", "types"].map(
            (name) => `__tests__/${name}/**`,
          ),
          testTimeout: kTestMs,
        },
      },
      {
        extends: true,
        test: {
          name: "packed",
          include: ["__tests__/packed/**/*.test.ts"],
          testTimeout: kTestMs,
        },
      },
      {
        extends: true,
        test: {
          name: "types",
          include: ["__tests__/types/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000, // the compiler reads all declarations
        },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: integration,
          // A sanitizer, or a machine whose hypervisor is slow at page faults, takes several times as long; what hangs
          // is still ended.
          testTimeout: kTestMs,
          hookTimeout: kTestMs,
          maxWorkers: availableParallelism() + 1, // most of the time they wait for a command
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "stress",
          include: ["__tests__/stress/**/*.test.ts"],
          exclude: isAlsoAsUser ? kStressAsUser : isAlsoAsRoot ? kStressAsRoot : [],
          testTimeout: kStressMs,
          hookTimeout: 60_000, // what was made is removed, on a disk that is busy
          fileParallelism: false,
        },
      },
    ],
  },
});
