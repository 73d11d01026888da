import { describe, expect, it, vi } from "vitest";

import { SandboxError } from "../lib/errors.js";
import { createAddonLoader, type LoaderHost } from "../lib/native.js";
import { targets } from "../scripts/lib/targets.mjs";
import { FakeAddon } from "./support/fake-addon.js";

const kRoot = "/opt/pkg";

function host(files: string[], changes: Partial<LoaderHost> = {}): LoaderHost {
  return {
    platform: "linux",
    arch: "x64",
    libc: () => "glibc",
    root: kRoot,
    preset: undefined,
    exists: (path) => files.includes(path),
    load: () => new FakeAddon().addon,
    ...changes,
  };
}

const build = (preset: string) => [
  `${kRoot}/build/${preset}/native_runner.node`,
  `${kRoot}/build/${preset}/launcher`,
];
const prebuilt = [
  `${kRoot}/prebuilds/linux-x64/native_runner.node`,
  `${kRoot}/prebuilds/linux-x64/launcher`,
];

function failure(described: LoaderHost): SandboxError {
  try {
    createAddonLoader(() => described)();
  } catch (error) {
    expect(error).toBeInstanceOf(SandboxError);
    return error as SandboxError;
  }
  throw new Error("the addon was loaded");
}

describe("createAddonLoader", () => {
  it("looks at nothing before its first use, and only once", () => {
    const fake = new FakeAddon();
    const load = vi.fn(() => fake.addon);
    const describeHost = vi.fn(() => host(prebuilt, { load }));
    const loader = createAddonLoader(describeHost);
    expect(describeHost).not.toHaveBeenCalled();
    expect(loader()).toBe(loader());
    expect(load).toHaveBeenCalledTimes(1);
    expect(load).toHaveBeenCalledWith(prebuilt[0]);
    expect(fake.configured).toEqual([prebuilt[1]]);
  });

  it("prefers the build of a checkout to prebuilt binaries that may be stale", () => {
    const load = vi.fn(() => new FakeAddon().addon);
    createAddonLoader(() => host([...prebuilt, ...build("release")], { load }))();
    expect(load).toHaveBeenCalledWith(build("release")[0]);
  });

  it("takes the preset that is named and no other build", () => {
    const files = [...prebuilt, ...build("release"), ...build("asan")];
    const load = vi.fn(() => new FakeAddon().addon);
    createAddonLoader(() => host(files, { preset: "asan", load }))();
    expect(load).toHaveBeenCalledWith(build("asan")[0]);
    expect(failure(host(files, { preset: "tsan" })).code).toBe("ERR_SANDBOX_UNAVAILABLE");
  });

  it.each(["../evil", "Release", "x"])("refuses the preset %j", (preset) => {
    expect(failure(host(prebuilt, { preset })).message).toContain(preset);
  });

  it("says that it needs Linux", () => {
    const error = failure(host(prebuilt, { platform: "darwin" }));
    expect(error.code).toBe("ERR_SANDBOX_UNAVAILABLE");
    expect(error.message).toContain("needs Linux, this is darwin");
    expect(error.fix).toContain("Linux");
  });

  it("tells a checkout to build", () => {
    const checkout = [`${kRoot}/scripts/build.mjs`];
    expect(failure(host(checkout)).fix).toBe(`run \`npm run build\` in ${kRoot}`);
    expect(failure(host(checkout, { preset: "asan" })).fix).toContain("--preset asan");
  });

  it("tells an install to reinstall, and a machine for which there is no binary that it is one", () => {
    expect(failure(host([])).fix).toContain("reinstall");
    expect(failure(host([], { arch: "arm64" })).fix).toContain("reinstall");
    const other = failure(host([], { arch: "riscv64" }));
    expect(other.message).toBe("there is no prebuilt binary for linux-riscv64");
    expect(other.fix).toContain("linux-x64, linux-arm64, linux-x64-musl");
    const alpine = failure(host([], { arch: "arm64", libc: () => "musl" }));
    expect(alpine.message).toBe("there is no prebuilt binary for linux-arm64-musl");
  });

  it("takes the binary for the C library of the process, and asks for that only where it matters", () => {
    const forMusl = prebuilt.map((path) => path.replace("linux-x64", "linux-x64-musl"));
    const load = vi.fn(() => new FakeAddon().addon);
    createAddonLoader(() => host([...prebuilt, ...forMusl], { load, libc: () => "musl" }))();
    createAddonLoader(() => host([...prebuilt, ...forMusl], { load, libc: () => null }))();
    expect(load.mock.calls).toEqual([[forMusl[0]], [prebuilt[0]]]);
    const libc = vi.fn(() => "musl");
    createAddonLoader(() => host(build("release"), { load, libc }))();
    expect(libc).not.toHaveBeenCalled();
  });

  it("knows the targets of a release", () => {
    const other = failure(host([], { arch: "riscv64" }));
    for (const { name } of targets) expect(other.fix).toContain(name);
  });

  it("does not load an addon without its launcher", () => {
    const load = vi.fn(() => new FakeAddon().addon);
    failure(host(prebuilt.slice(0, 1), { load }));
    expect(load).not.toHaveBeenCalled();
  });

  it("keeps dlopen's reason as the cause, and remembers the failure", () => {
    const reason = new Error("version `GLIBC_2.99' not found");
    const load = vi.fn(() => {
      throw reason;
    });
    const loader = createAddonLoader(() => host(prebuilt, { load }));
    expect(loader).toThrow(/GLIBC_2\.99/);
    expect(loader).toThrow(expect.objectContaining({ cause: reason }));
    expect(load).toHaveBeenCalledTimes(1);
  });
});
