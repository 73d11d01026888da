/** Skills, tiers and the sandbox's configuration as they are checked and built. */

import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";

import {
  buildConfigForSkill,
  type Skill,
  shouldUseOsSandbox,
  type TrustTier,
} from "../../lib/index.js";
import { checkInput, checkSkill, resolveLimits } from "../../lib/skills/skill.js";

const skill: Skill = {
  manifest: { name: "echo", version: "1.0.0" },
  wasmPath: "/srv/skills/echo/echo.wasm",
  trustTier: "untrusted",
};
const kDefaults = {
  maxMemoryBytes: 128 * 1024 ** 2,
  maxFuel: undefined,
  maxDurationMs: 30_000,
  maxOutputBytes: 1024 ** 2,
};

describe("shouldUseOsSandbox", () => {
  it.each([
    ["local", false],
    ["verified", false],
    ["untrusted", true],
  ] as const)("%s: %s", (tier, expected) => {
    expect(shouldUseOsSandbox(tier)).toBe(expected);
  });

  it.each(["Untrusted", "untrusted ", "", undefined, null, 0, {}])("refuses %j", (tier) => {
    expect(() => shouldUseOsSandbox(tier as TrustTier)).toThrow(
      expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }),
    );
  });
});

describe("buildConfigForSkill", () => {
  it("reads the skill's directory, writes nothing and has no network", () => {
    const limits = { maxMemoryBytes: 1024 ** 2, maxFuel: 10, maxDurationMs: 5 };
    expect(buildConfigForSkill(skill.wasmPath, '{"a":1}', "untrusted", limits)).toEqual({
      wasmPath: "/srv/skills/echo/echo.wasm",
      input: '{"a":1}',
      trustTier: "untrusted",
      resourceLimits: { ...kDefaults, ...limits },
      readablePaths: ["/srv/skills/echo"],
      writablePaths: [],
      allowNetwork: false,
      tempDir: tmpdir(),
    });
  });

  it("has defaults for all limits", () => {
    const { resourceLimits } = buildConfigForSkill(skill.wasmPath, "", "untrusted");
    expect(resourceLimits).toEqual(kDefaults);
  });

  it.each(["/", "/tmp", "/etc", homedir(), tmpdir(), join(homedir(), "..")])(
    "refuses a skill that lies in %s with all else that is there",
    (directory) => {
      const path = join(directory, "skill.wasm");
      expect(() => buildConfigForSkill(path, "", "untrusted")).toThrow(/directory of its own/);
    },
  );

  it("goes by the HOME that the host has now", () => {
    const path = join("/srv/another-home", "skill.wasm");
    expect(() => buildConfigForSkill(path, "", "untrusted")).not.toThrow();
    vi.stubEnv("HOME", "/srv/another-home");
    try {
      expect(() => buildConfigForSkill(path, "", "untrusted")).toThrow(/directory of its own/);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("takes one below the temporary directory", () => {
    const path = join(tmpdir(), "skill", "skill.wasm");
    expect(buildConfigForSkill(path, "", "untrusted").readablePaths).toEqual([
      join(tmpdir(), "skill"),
    ]);
  });
});

describe("a skill", () => {
  it("is copied, with its limits", () => {
    expect(checkSkill(skill)).toEqual({ ...skill, resourceLimits: kDefaults });
  });

  it("of the tier local is refused by a reason", () => {
    expect(() => checkSkill({ ...skill, trustTier: "local" })).toThrow(
      expect.objectContaining({
        code: "ERR_INVALID_ARG_VALUE",
        message: expect.stringMatching(/`trustTier`.*native code/),
      }),
    );
  });

  it.each([
    ["skill", null],
    ["manifest", { ...skill, manifest: undefined }],
    ["manifest.name", { ...skill, manifest: { name: "" } }],
    ["manifest.version", { ...skill, manifest: { name: "a", version: 1 } }],
    ["wasmPath", { ...skill, wasmPath: "" }],
    ["wasmPath", { ...skill, wasmPath: "a\0b" }],
    ["trustTier", { ...skill, trustTier: "trusted" }],
    ["trustTier", { ...skill, trustTier: undefined }],
    ["resourceLimits", { ...skill, resourceLimits: 5 }],
  ])("with a wrong %s is a TypeError that names it", (field, wrong) => {
    expect(() => checkSkill(wrong as Skill)).toThrow(
      expect.objectContaining({
        name: "TypeError",
        message: expect.stringContaining(`\`${field}\``),
      }),
    );
  });
});

describe("limits", () => {
  it.each([
    ["maxMemoryBytes", 65_535],
    ["maxMemoryBytes", 2 ** 32 + 1],
    ["maxMemoryBytes", 1e5 + 0.5],
    ["maxFuel", 0],
    ["maxFuel", -1],
    ["maxDurationMs", 0],
    ["maxDurationMs", Number.NaN],
    ["maxDurationMs", Number.POSITIVE_INFINITY],
    ["maxOutputBytes", -1],
    ["maxOutputBytes", 64 * 1024 ** 2 + 1],
  ])("%s: %d is out of range", (name, value) => {
    expect(() => resolveLimits({ [name]: value })).toThrow(
      expect.objectContaining({
        code: "ERR_OUT_OF_RANGE",
        message: expect.stringContaining(`resourceLimits.${name}`),
      }),
    );
  });

  it.each(["maxMemoryBytes", "maxFuel", "maxDurationMs", "maxOutputBytes"])(
    "%s: a string is no number",
    (name) => {
      expect(() => resolveLimits({ [name]: "1" })).toThrow(
        expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }),
      );
    },
  );
});

describe("an input", () => {
  it("is a string of at most 16 MiB", () => {
    expect(checkInput("ö")).toBe("ö");
    expect(() => checkInput({ a: 1 })).toThrow(/`input` to be a string/);
    expect(() => checkInput("ö".repeat(9 * 1024 ** 2))).toThrow(/`input`.*16777216/);
  });
});
