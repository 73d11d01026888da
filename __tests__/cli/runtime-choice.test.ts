import { resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";

import type { CliOptions } from "../../lib/cli/options.js";
import { chooseRunner, runtimeConfig, variablesFor } from "../../lib/cli/runtime-choice.js";
import { BubblewrapNativeRunner, LandlockNativeRunner } from "../../lib/index.js";
import type { RuntimeKind } from "../../lib/runtime/kinds/kind.js";
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

describe("chooseRunner", () => {
  it("is Bubblewrap, unproved, where nothing is asked for", async () => {
    expect(await chooseRunner(options({}), {})).toBeInstanceOf(BubblewrapNativeRunner);
    const required = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    expect(await chooseRunner(options({}), required)).toBeInstanceOf(BubblewrapNativeRunner);
    expect(seam.asked).toEqual([]);
  });

  it("is what --runtime names, else what the variables do", async () => {
    const variables = { OPENAGENTIC_SANDBOX_BACKEND: "bwrap" };
    const named = await chooseRunner(options({ runtime: "landlock", network: "allow" }), variables);
    expect(named).toBeInstanceOf(LandlockNativeRunner);
    expect(named).toMatchObject({ network: "allow", shadowDir: resolve(".") });
    const said = { OPENAGENTIC_RUNTIME_TYPE: "auto" };
    expect(await chooseRunner(options({}), said)).toBeInstanceOf(LandlockNativeRunner);
    await expect(chooseRunner(options({}), variables)).rejects.toThrow("bubblewrap does not work");
  });

  it("is never native where a sandbox is required", async () => {
    const required = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    await expect(chooseRunner(options({ runtime: "native" }), required)).rejects.toThrow(
      "a sandbox is required",
    );
  });

  it.each([
    [{ runtime: "landlock", isolation: "compat" }, "--isolation"],
    [{ runtime: "firejail", bwrap: "/opt/bwrap" }, "--bwrap"],
    [{ runtime: "native", roBind: ["/opt"] }, "--ro-bind"],
    [{ runtime: "firejail", defaultRoBinds: false }, "--no-default-ro-binds"],
  ] as const)("refuses %j", async (changes, option) => {
    const refused = chooseRunner(options(changes as Partial<CliOptions>), {});
    await expect(refused).rejects.toMatchObject({
      exitCode: 2,
      message: `${option} means nothing to --runtime ${changes.runtime}`,
    });
  });
});

describe("runtimeConfig", () => {
  it("takes the mounts as what may be read", () => {
    const config = runtimeConfig(options({ roBind: ["/opt"], defaultRoBinds: false }));
    expect(config.bubblewrap?.roBinds).toEqual(["/opt"]);
    expect(config.landlock?.fsReadDirs).toEqual(["/opt"]);
    expect(runtimeConfig(options({ roBind: ["/opt"] })).landlock?.fsReadDirs).toEqual(
      expect.arrayContaining(["/usr", "/opt"]),
    );
  });

  it("names none where none is named", () => {
    const { bubblewrap, landlock } = runtimeConfig(options({}));
    expect(bubblewrap?.roBinds).toBeUndefined();
    expect(landlock?.fsReadDirs).toBeUndefined();
  });
});

it("variablesFor leaves the choice to the command line", () => {
  const variables = {
    OPENAGENTIC_RUNTIME_TYPE: "native",
    ZEPTOCLAW_RUNTIME_TYPE: "native",
    OPENAGENTIC_SANDBOX_BACKEND: "none",
    OPENAGENTIC_PROCESS_SANDBOX: "bwrap",
    OPENAGENTIC_SANDBOX_REQUIRED: "1",
  };
  expect(variablesFor("landlock", variables)).toEqual({ OPENAGENTIC_SANDBOX_REQUIRED: "1" });
  expect(variablesFor(undefined, variables)).toBe(variables);
});
