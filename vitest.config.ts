import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";

/** One project per kind of test; folders under __tests__ mirror lib. No retries anywhere. */
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: availableParallelism() + 1, // most tests wait for a command; stress runs alone
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["__tests__/**/*.test.ts"],
          exclude: ["__tests__/integration/**", "__tests__/stress/**", "__tests__/types/**"],
          testTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: { name: "types", include: ["__tests__/types/**/*.test.ts"], testTimeout: 60_000 },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: ["__tests__/integration/**/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: "stress",
          include: ["__tests__/stress/**/*.test.ts"],
          testTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
