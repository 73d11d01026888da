import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { isCross, presetFor, targetOf, targets } from "../../scripts/lib/targets.mjs";

const kX64 = { arch: "x64", libc: "glibc" };
const kAlpine = { arch: "arm64", libc: "musl" };

describe("what is built for", () => {
  it("is this machine, unless something else was asked for", () => {
    expect(targetOf(kX64).name).toBe("linux-x64");
    expect(targetOf(kX64, { arch: "arm64" }).name).toBe("linux-arm64");
    expect(targetOf(kX64, { libc: "musl" }).name).toBe("linux-x64-musl");
  });

  it("is one of those there are, which an error names", () => {
    expect(() => targetOf(kX64, { arch: "riscv64" })).toThrow(
      /--arch riscv64 --libc glibc can't be built: there are --arch x64 --libc glibc, /,
    );
  });
});

describe("the preset", () => {
  it("is the release for the machine itself, whatever it is", () => {
    for (const target of targets) expect(presetFor(target, target)).toBe("release");
  });

  it("is the target's own from another machine", () => {
    expect(presetFor(targetOf({ arch: "arm64", libc: "glibc" }), kX64)).toBe("linux-arm64");
    expect(isCross("linux-arm64")).toBe(true);
    expect(isCross("release")).toBe(false);
  });

  it("needs a machine that has the cross compilers", () => {
    expect(() => presetFor(targetOf(kX64), kAlpine)).toThrow(
      "linux-x64 is cross-built on x64 with glibc only; this machine has arm64 and musl",
    );
  });

  it("is there for each target but the machine that cross-builds, and so is its toolchain", () => {
    const { configurePresets } = JSON.parse(readFileSync("CMakePresets.json", "utf8"));
    for (const target of targets.filter((each) => presetFor(each, kX64) !== "release")) {
      const preset = configurePresets.find(({ name }: { name: string }) => name === target.name);
      const file = preset?.toolchainFile.replace(/^\$\{sourceDir\}\//, "");
      expect(existsSync(file), target.name).toBe(true);
    }
  });
});
