import { describe, expect, it } from "vitest";

import {
  enforcedProfile,
  type HostFacts,
  installCommand,
  parseOsRelease,
  readHostFacts,
} from "../../lib/runtime/host-facts.js";
import { firejailFix, landlockFix } from "../../lib/runtime/host-fixes.js";

const kUser: HostFacts = {
  platform: "linux",
  kernel: "6.8.0-41-generic",
  arch: "x64",
  distribution: parseOsRelease("ID=debian"),
  uid: 1000,
  container: undefined,
  securityModules: ["lockdown", "capability", "landlock"],
  appArmorProfile: undefined,
};

describe("the package", () => {
  it.each([
    ["ID=debian", "apt-get install bubblewrap"],
    ['ID=linuxmint\nID_LIKE="ubuntu debian"', "apt-get install bubblewrap"],
    ["ID=fedora", "dnf install bubblewrap"],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"', "dnf install bubblewrap"],
    ["ID=manjaro\nID_LIKE=arch", "pacman -S bubblewrap"],
    ["ID=alpine", "apk add bubblewrap"],
    ['ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"', "zypper install bubblewrap"],
    ["ID=nixos", "the package bubblewrap with"],
    ["", "the package bubblewrap with"],
  ])("%j: %s", (text, expected) => {
    expect(installCommand(parseOsRelease(text), "bubblewrap")).toContain(expected);
  });

  it("is told for what os-release(5) may hold", () => {
    const text = '# comment\nPRETTY_NAME="A \\"B\\" 1"\nVERSION_ID=\'24.04\'\nID=ubuntu\n';
    expect(parseOsRelease(text)).toEqual({ ids: ["ubuntu"], version: "24.04", name: 'A "B" 1' });
  });
});

describe("landlockFix", () => {
  it("names the profile of AppArmor that keeps the launcher from being started", () => {
    const reason = "posix_spawn native-runner-launcher: Permission denied";
    const confined = { ...kUser, appArmorProfile: "snap.host" };
    expect(landlockFix(reason, confined)).toContain("AppArmor's profile snap.host");
    expect(landlockFix(reason, confined)).toContain("flags=(attach_disconnected)");
    expect(landlockFix(reason, kUser)).toBeUndefined();
    expect(landlockFix("Landlock can't be looked at", confined)).toBeUndefined();
  });

  it("names the kernel that is needed, the boot option, and the container's filter", () => {
    const fix = (changes: Partial<HostFacts>) =>
      landlockFix("Landlock needs Linux 5.13 or newer with landlock enabled", {
        ...kUser,
        ...changes,
      });
    expect(fix({ kernel: "5.10.0-30-amd64" })).toContain("5.13");
    const securityModules = ["capability", "yama"];
    expect(fix({ securityModules })).toContain("lsm=landlock,capability,yama");
    expect(fix({ container: "docker" })).toContain("landlock_*");
    expect(fix({ securityModules: undefined })).toBeUndefined();
  });

  it("says nothing of other troubles", () => {
    const facts = { ...kUser, container: "docker" };
    expect(landlockFix("fsReadDirs: /x: No such file or directory", facts)).toBeUndefined();
  });
});

it("firejailFix sends elsewhere where it is nested", () => {
  expect(firejailFix("firejail is nested: it ran the command unconfined", kUser)).toContain(
    "use bubblewrap or landlock",
  );
  const shared = "mount-namespace: the command would run in the host's own";
  expect(firejailFix(shared, kUser)).toContain("use bubblewrap or landlock");
  expect(firejailFix("the workspace is not there: /home/you/w", kUser)).toContain("in /tmp");
  expect(firejailFix("the user is not allowed to use Firejail.", kUser)).toContain(
    "/etc/firejail/firejail.users",
  );
  expect(firejailFix("it does not confine: x", kUser)).toContain("firejail.profile");
  expect(firejailFix("x", kUser)).toBeUndefined();
});

it("readHostFacts reads this host and never throws", () => {
  expect(readHostFacts()).toMatchObject({ platform: process.platform, arch: process.arch });
});

describe("the profile of AppArmor", () => {
  it.each([
    ["/usr/bin/host (enforce)", "/usr/bin/host"],
    ["snap.a b.host//child (enforce)", "snap.a b.host//child"],
    ["host (kill)", "host"],
    ["host (complain)", undefined],
    ["bwrap (unconfined)", undefined],
    ["unconfined", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("of the label %s is %s", (label, expected) => {
    expect(enforcedProfile(label)).toBe(expected);
  });
});
