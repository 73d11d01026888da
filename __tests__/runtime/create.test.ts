/** The choice among runtimes, with what is found out about each made up. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import type { RuntimeKind } from "../../lib/runtime/kinds.js";
import type { RuntimeAvailability } from "../../lib/runtime/runtime.js";

const seam = vi.hoisted(() => ({ working: new Set<string>(), asked: [] as string[] }));

vi.mock(import("../../lib/runtime/availability.js"), () => ({
  findAvailability: async ({ name }: RuntimeKind): Promise<RuntimeAvailability> => {
    seam.asked.push(name);
    const nothing = { layers: [], probes: [] };
    if (seam.working.has(name)) return { available: true, state: "available", ...nothing };
    const why = { reason: `no ${name}`, fix: `get ${name}` };
    return { available: false, state: "missing", ...why, ...nothing };
  },
}));

const { availableRuntimes, createRuntime, forgetAvailability, RuntimeUnavailableError } =
  await import("../../lib/index.js");

const warn = vi.fn();
const none = { environment: {}, warn };

beforeEach(() => {
  forgetAvailability();
  seam.working = new Set();
  seam.asked = [];
  warn.mockReset();
  vi.spyOn(process, "emitWarning").mockReset().mockReturnValue();
});

describe("auto", () => {
  it.each([
    [["bubblewrap", "landlock", "firejail", "native"], "bubblewrap"],
    [["landlock", "firejail", "native"], "landlock"],
    [["firejail", "native"], "firejail"],
  ])("of %j takes %s, and tells each step until there", async (working, name) => {
    seam.working = new Set(working);
    const runtime = await createRuntime({}, none);
    expect(runtime.name).toBe(name);
    expect(runtime.steps.at(-1)).toEqual({ name, available: true });
    for (const step of runtime.steps.slice(0, -1)) {
      expect(step).toEqual({
        name: step.name,
        available: false,
        reason: `no ${step.name}`,
        fix: `get ${step.name}`,
      });
    }
    expect(seam.asked).toEqual(runtime.steps.map((step) => step.name));
    expect(warn).not.toHaveBeenCalled();
  });

  it("refuses where none works, though native would", async () => {
    seam.working = new Set(["native"]);
    const refused = createRuntime({}, none);
    await expect(refused).rejects.toBeInstanceOf(RuntimeUnavailableError);
    await expect(refused).rejects.toMatchObject({
      code: "ERR_SANDBOX_UNAVAILABLE",
      message:
        "no sandbox works here (bubblewrap: no bubblewrap; landlock: no landlock; firejail: no firejail)",
      fix: "for bubblewrap: get bubblewrap",
      steps: [{ name: "bubblewrap" }, { name: "landlock" }, { name: "firejail" }],
    });
    expect(seam.asked).not.toContain("native");
  });

  it("falls back to native where that is allowed, and warns", async () => {
    seam.working = new Set(["native"]);
    const runtime = await createRuntime({ allowFallbackToNative: true }, none);
    expect(runtime.name).toBe("native");
    expect(runtime.steps).toHaveLength(4);
    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining("without a sandbox: no sandbox works"),
    );
  });

  it.each(["OPENAGENTIC_SANDBOX_REQUIRED", "OPENAGENTIC_PROCESS_SANDBOX_REQUIRED"])(
    "never falls back with %s",
    async (variable) => {
      seam.working = new Set(["native"]);
      const environment = { [variable]: "1" };
      const refused = createRuntime({ allowFallbackToNative: true }, { environment, warn });
      await expect(refused).rejects.toThrow("no sandbox works here, and one is required");
      expect(seam.asked).not.toContain("native");
    },
  );

  it("does not fall back to what lacks the required layers", async () => {
    seam.working = new Set(["native"]);
    const refused = createRuntime({ allowFallbackToNative: true, required: ["seccomp"] }, none);
    await expect(refused).rejects.toBeInstanceOf(RuntimeUnavailableError);
  });
});

describe("a runtime by its name", () => {
  it("is that one or an error", async () => {
    seam.working = new Set(["bubblewrap", "landlock"]);
    expect((await createRuntime({ runtimeType: "landlock" }, none)).name).toBe("landlock");
    const refused = createRuntime({ runtimeType: "firejail" }, none);
    await expect(refused).rejects.toMatchObject({
      message: "firejail does not work here (firejail: no firejail)",
      fix: "get firejail",
    });
    expect(seam.asked).toEqual(["landlock", "firejail"]);
  });

  it("is native with a warning, given once for the process", async () => {
    seam.working = new Set(["native"]);
    const emitted = vi.spyOn(process, "emitWarning").mockReturnValue();
    for (const _ of [1, 2]) {
      expect((await createRuntime({ runtimeType: "native" }, none)).name).toBe("native");
    }
    expect(warn).toHaveBeenCalledTimes(2);
    expect(emitted.mock.calls).toEqual([
      [
        "commands run without a sandbox: as configured",
        { type: "SandboxWarning", code: "OPENAGENTIC_NATIVE_RUNTIME" },
      ],
    ]);
  });

  it("is not native where a sandbox or a layer is required", async () => {
    seam.working = new Set(["native"]);
    const environment = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    const native = { runtimeType: "native" } as const;
    await expect(createRuntime(native, { environment })).rejects.toThrow("a sandbox is required");
    const layered = { ...native, required: ["seccomp"] };
    await expect(createRuntime(layered, none)).rejects.toThrow("required layers (seccomp)");
    expect(seam.asked).toEqual([]);
  });
});

describe("the operator's variables", () => {
  it("win over the configuration", async () => {
    seam.working = new Set(["bubblewrap", "landlock", "native"]);
    const environment = { OPENAGENTIC_RUNTIME_TYPE: "landlock" };
    const runtime = await createRuntime({ runtimeType: "native" }, { environment });
    expect(runtime.name).toBe("landlock");
  });

  it("are checked as the configuration is", async () => {
    const environment = { OPENAGENTIC_BWRAP_RO_BINDS: "usr" };
    await expect(createRuntime({}, { environment })).rejects.toThrow(
      /OPENAGENTIC_BWRAP_RO_BINDS=usr.*absolute paths/,
    );
  });

  it("warn when they contradict each other", async () => {
    seam.working = new Set(["landlock"]);
    const environment = {
      OPENAGENTIC_RUNTIME_TYPE: "landlock",
      OPENAGENTIC_SANDBOX_BACKEND: "bwrap",
    };
    await createRuntime({}, { environment, warn });
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("contradict"));
  });

  it("are the process's where none are given", async () => {
    vi.stubEnv("OPENAGENTIC_RUNTIME_TYPE", "firejail");
    seam.working = new Set(["firejail", "bubblewrap"]);
    expect((await createRuntime()).name).toBe("firejail");
    vi.unstubAllEnvs();
  });
});

it("availableRuntimes tells all four", async () => {
  seam.working = new Set(["landlock", "native"]);
  const reports = await availableRuntimes({}, none);
  expect(reports.map(({ name, available }) => [name, available])).toEqual([
    ["bubblewrap", false],
    ["landlock", true],
    ["firejail", false],
    ["native", true],
  ]);
});

it("what was found out is kept for a policy, until it is forgotten or asked anew", async () => {
  seam.working = new Set(["bubblewrap"]);
  const runtime = await createRuntime({}, none);
  await createRuntime({ allowFallbackToNative: true }, none);
  expect(seam.asked).toEqual(["bubblewrap"]);
  await createRuntime({ network: "allow" }, none);
  await runtime.isAvailable({ refresh: true });
  expect(seam.asked).toHaveLength(3);
  forgetAvailability();
  await Promise.all([runtime.isAvailable(), runtime.isAvailable()]);
  expect(seam.asked).toHaveLength(4);
  const found = await runtime.isAvailable();
  found.layers.push("mine");
  expect((await runtime.isAvailable()).layers).toEqual([]);
});
