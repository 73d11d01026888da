import { resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";

import { chooseRunner } from "../../lib/cli/choose-runner.js";
import type { CliOptions } from "../../lib/cli/options.js";
import { BubblewrapNativeRunner, LandlockNativeRunner } from "../../lib/index.js";
import type { RuntimeKind } from "../../lib/runtime/kinds.js";
import type { RuntimeAvailability } from "../../lib/runtime/runtime.js";
import { kDefaultCliOptions } from "../support/cli-options.js";
import { FakeAddon } from "../support/fake-addon.js";

const seam = vi.hoisted(() => ({ asked: [] as string[] }));

vi.mock(import("../../lib/runtime/availability.js"), () => ({
  findAvailability: async ({ name }: RuntimeKind): Promise<RuntimeAvailability> => {
    seam.asked.push(name);
    const available = name !== "bubblewrap";
    return { available, state: available ? "available" : "broken", layers: [], probes: [] };
  },
}));

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  return { ...(await importOriginal()), loadAddon: () => new FakeAddon().addon };
});

const options = (changes: Partial<CliOptions>) => ({ ...kDefaultCliOptions, ...changes });

const chosen = async (...args: Parameters<typeof chooseRunner>) =>
  (await chooseRunner(...args)).runner;

describe("chooseRunner", () => {
  it("is Bubblewrap, unproved, where nothing is asked for", async () => {
    expect(await chosen(options({}), {})).toBeInstanceOf(BubblewrapNativeRunner);
    const required = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    expect(await chosen(options({}), required)).toBeInstanceOf(BubblewrapNativeRunner);
    expect(seam.asked).toEqual([]);
  });

  it("is what --runtime names, else what the variables do", async () => {
    const variables = { OPENAGENTIC_SANDBOX_BACKEND: "bwrap" };
    const named = await chosen(options({ runtime: "landlock", network: "allow" }), variables);
    expect(named).toBeInstanceOf(LandlockNativeRunner);
    expect(named).toMatchObject({ network: "allow", shadowDir: resolve(".") });
    const said = { OPENAGENTIC_RUNTIME_TYPE: "auto" };
    expect(await chosen(options({}), said)).toBeInstanceOf(LandlockNativeRunner);
    await expect(chooseRunner(options({}), variables)).rejects.toThrow("bubblewrap does not work");
  });

  it("is never native where a sandbox is required", async () => {
    const required = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    await expect(chooseRunner(options({ runtime: "native" }), required)).rejects.toThrow(
      "a sandbox is required",
    );
  });
});
