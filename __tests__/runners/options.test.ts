/** Fields, defaults and copying of the runners' options, with and without an addon. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import {
  BubblewrapNativeRunner,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../../lib/index.js";
import type {
  BubblewrapNativeRunnerOptions,
  FirejailNativeRunnerOptions,
  LandlockNativeRunnerOptions,
} from "../../types/public.js";
import type { FakeAddon } from "../support/fake-addon.js";
import { freshAddon, withoutAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

describe.each(["with", "without"])("%s an addon", (which) => {
  beforeEach(() => {
    if (which === "with") freshAddon();
    else withoutAddon();
  });

  it("has the contract's defaults", () => {
    expect({ ...new BubblewrapNativeRunner({ shadowDir: "/w" }) }).toEqual({
      bwrapPath: "bwrap",
      shadowDir: "/w",
      roBinds: ["/usr", "/bin", "/lib", "/lib64", "/etc"],
      mounts: [],
      devices: [],
      network: "deny",
      workspacePath: "/workspace",
      home: "private",
      caches: "none",
      tools: undefined,
      isolation: "strict",
      envPolicy: "scrub",
      extraArgs: [],
      devBind: true,
      procBind: true,
      allowWriteWorkspace: true,
      layers: [],
      required: [],
      prewarm: undefined,
      prewarmIdleMs: 60_000,
      clone: "auto",
      maxTransactionBytes: undefined,
    });
    expect({ ...new LandlockNativeRunner({ shadowDir: "/w" }) }).toEqual({
      shadowDir: "/w",
      fsReadDirs: ["/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin", "/tmp"],
      fsWriteDirs: ["/tmp"],
      allowReadWorkspace: true,
      allowWriteWorkspace: true,
      devices: [],
      network: "deny",
      envPolicy: "scrub",
      required: [],
      home: "private",
      tools: undefined,
    });
    expect({ ...new FirejailNativeRunner({ shadowDir: "/w" }) }).toEqual({
      firejailPath: "firejail",
      shadowDir: "/w",
      profile: undefined,
      fsReadDirs: ["/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"],
      fsWriteDirs: [],
      extraArgs: [],
      network: "deny",
      envPolicy: "scrub",
      required: [],
    });
    expect({ ...new LocalNativeRunner({ shadowDir: "/w" }) }).toEqual({
      shadowDir: "/w",
      envPolicy: "scrub",
    });
  });

  it("shows the options it was made with", () => {
    const options: BubblewrapNativeRunnerOptions = {
      bwrapPath: "/usr/bin/bwrap",
      shadowDir: "/not/there/yet",
      roBinds: ["/usr"],
      mounts: [{ hostPath: "/srv", guestPath: "/data", mode: "rw", label: "x" }],
      devices: ["kvm"],
      workspacePath: "same",
      home: "none",
      tools: { paths: ["/opt/zig"] },
      caches: "none",
      network: "allow",
      isolation: "compat",
      envPolicy: ["PATH"],
      extraArgs: ["--hostname", "x"],
      devBind: false,
      procBind: false,
      allowWriteWorkspace: false,
      layers: ["landlock"],
      required: ["seccomp"],
      prewarm: 0,
      prewarmIdleMs: 5,
      clone: "never",
      maxTransactionBytes: 5,
    };
    expect({ ...new BubblewrapNativeRunner(options) }).toEqual(options);
    const landlock: LandlockNativeRunnerOptions = {
      shadowDir: "/w",
      fsReadDirs: ["/usr"],
      fsWriteDirs: [],
      allowReadWorkspace: false,
      allowWriteWorkspace: false,
      devices: ["kvm"],
      network: "allow",
      envPolicy: "clean",
      required: ["landlock-fs"],
      home: { directory: "/homes/w" },
      tools: { exclude: ["/opt/x"] },
    };
    expect({ ...new LandlockNativeRunner(landlock) }).toEqual(landlock);
    const firejail: FirejailNativeRunnerOptions = {
      firejailPath: "/opt/firejail",
      shadowDir: "/w",
      profile: "/etc/p",
      fsReadDirs: ["/usr"],
      fsWriteDirs: ["/data"],
      extraArgs: ["--nodvd"],
      network: "allow",
      envPolicy: "inherit",
      required: ["seccomp"],
    };
    expect({ ...new FirejailNativeRunner(firejail) }).toEqual(firejail);
  });

  it("takes an option that is undefined as left out", () => {
    const undefinedOptions = { roBinds: undefined, network: undefined, envPolicy: undefined };
    const runner = new BubblewrapNativeRunner({ shadowDir: "/w", ...undefinedOptions });
    expect(runner).toMatchObject({ network: "deny", envPolicy: "scrub" });
    expect(runner.roBinds).toHaveLength(5);
  });

  it("copies arrays and freezes the copies", () => {
    const roBinds = ["/usr"];
    const envPolicy = ["PATH"];
    const runner = new BubblewrapNativeRunner({ shadowDir: "/w", roBinds, envPolicy });
    roBinds.push("/root");
    envPolicy.push("SECRET");
    expect(runner.roBinds).toEqual(["/usr"]);
    expect(runner.envPolicy).toEqual(["PATH"]);
    expect(Object.isFrozen(runner.roBinds)).toBe(true);
    expect(Object.isFrozen(runner.envPolicy)).toBe(true);
    expect(Object.isFrozen(new BubblewrapNativeRunner({ shadowDir: "/w" }).roBinds)).toBe(true);
  });

  it("copies the mounts, and what is in them", () => {
    const mount = { hostPath: "/srv", mode: "ro" as "ro" | "rw" };
    const runner = new BubblewrapNativeRunner({ shadowDir: "/w", mounts: [mount] });
    mount.mode = "rw";
    expect(runner.mounts).toEqual([{ hostPath: "/srv", mode: "ro" }]);
    expect(Object.isFrozen(runner.mounts) && Object.isFrozen(runner.mounts[0])).toBe(true);
  });

  it.each([undefined, null, "/w"])("refuses the options %j", (options) => {
    const wrong = options as unknown as BubblewrapNativeRunnerOptions;
    expect(() => new BubblewrapNativeRunner(wrong)).toThrow(TypeError);
    expect(() => new LocalNativeRunner(wrong)).toThrow(/`options`/);
  });

  it("can be subclassed", () => {
    class Mine extends BubblewrapNativeRunner {
      readonly label = `mine in ${this.shadowDir}`;
    }
    const runner = new Mine({ shadowDir: "/w" });
    expect(runner).toBeInstanceOf(BubblewrapNativeRunner);
    expect(runner.label).toBe("mine in /w");
  });
});

describe("what the addon gets", () => {
  let fake: FakeAddon;
  beforeEach(() => {
    fake = freshAddon();
  });

  it("is a copy without a prototype, and no default, so that it can tell named from not", () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: "/w", maxConcurrent: 2 });
    const given = fake.options[0];
    expect(runner.roBinds).toHaveLength(5);
    expect(given).toEqual({ shadowDir: "/w", maxConcurrent: 2 });
    expect(Object.getPrototypeOf(given)).toBeNull();
  });

  it("is refused by it from the constructor", () => {
    const misuse = new TypeError("network");
    fake.refusal = misuse;
    expect(() => new BubblewrapNativeRunner({ shadowDir: "/w" })).toThrow(misuse);
  });
});
