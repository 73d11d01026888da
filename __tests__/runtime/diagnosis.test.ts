import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import {
  enforcedProfile,
  type HostFacts,
  installCommand,
  parseOsRelease,
  readHostFacts,
} from "../../lib/runtime/host-facts.js";
import { bubblewrapFix, firejailFix, landlockFix } from "../../lib/runtime/host-fixes.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";

const kUser: HostFacts = {
  platform: "linux",
  kernel: "6.8.0-41-generic",
  arch: "x64",
  distribution: parseOsRelease("ID=debian"),
  uid: 1000,
  sysctls: { "user.max_user_namespaces": "127000" },
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

describe("bubblewrapFix", () => {
  const fix = (reason: string, facts: Partial<HostFacts>, bubblewrap = {}) =>
    bubblewrapFix(reason, { ...kUser, ...facts }, parseRuntimeConfig({ bubblewrap }));
  const kUidMap = "bwrap: setting up uid map: Permission denied";
  const kNoNamespace = "bwrap: No permissions to create new namespace, likely because the kernel";

  it("gives Ubuntu's AppArmor profile for the program that is used", () => {
    const sysctls = { "kernel.apparmor_restrict_unprivileged_userns": "1" };
    for (const reason of [
      kUidMap,
      "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
    ]) {
      expect(fix(reason, { sysctls })).toContain(
        "profile bwrap /usr/bin/bwrap flags=(unconfined) {",
      );
    }
    expect(fix(kUidMap, { sysctls })).toContain("apparmor_parser -r /etc/apparmor.d/bwrap");
    expect(fix(kUidMap, { sysctls })).toContain("kernel.apparmor_restrict_unprivileged_userns=0");
    const other = fix(kUidMap, { sysctls }, { bwrapPath: "/opt/bin/bwrap" });
    expect(other).toContain("profile bwrap /opt/bin/bwrap ");
  });

  it("gives the profile that the page has, and that an emulated machine loads", () => {
    const linesOf = (text: string) => text.split("\n").flatMap((line) => line.trim() || []);
    const loaded = linesOf(readFileSync("scripts/platforms/machines/guest/apparmor/bwrap", "utf8"));
    const page = /^```\n(abi <abi[^`]*)```/m.exec(readFileSync("docs/installing.md", "utf8"))?.[1];
    expect(linesOf(page ?? "")).toEqual(loaded);
    const sysctls = { "kernel.apparmor_restrict_unprivileged_userns": "1" };
    const given = linesOf(fix(kUidMap, { sysctls }) ?? "");
    expect(given.slice(1, 1 + loaded.length)).toEqual(loaded);
  });

  it("names the profile of AppArmor that confines this process, but where a container has brought it", () => {
    const confined = { appArmorProfile: "snap.host" };
    expect(fix(kNoNamespace, confined)).toContain("AppArmor's profile snap.host confines");
    expect(fix(kNoNamespace, confined)).toContain("`/usr/bin/bwrap px,`");
    expect(fix(kNoNamespace, { ...confined, uid: 0 })).not.toContain("px,");
    expect(fix(kNoNamespace, { ...confined, container: "docker" })).toContain(
      "apparmor=unconfined",
    );
    expect(fix("bwrap: Unknown option --size", confined)).toContain("whose --help lists");
  });

  it.each([
    [
      "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
      {},
      "user.max_user_namespaces=",
    ],
    [kNoNamespace, { sysctls: { "user.max_user_namespaces": "0" } }, "user.max_user_namespaces="],
    [
      kNoNamespace,
      { sysctls: { "kernel.unprivileged_userns_clone": "0" } },
      "kernel.unprivileged_userns_clone=1",
    ],
    [
      "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      { container: "docker" },
      "systempaths=unconfined",
    ],
    [
      "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      { container: "podman" },
      "unmask=ALL",
    ],
    [
      "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      { container: "kubernetes" },
      "procMount: Unmasked",
    ],
    [
      "bwrap: Failed to make / slave: Permission denied",
      { container: "docker" },
      "seccomp=unconfined",
    ],
    [kNoNamespace, { container: "kubernetes" }, "seccompProfile"],
    ["bwrap: Unknown option --disable-userns", {}, "whose --help lists --disable-userns"],
    ["bwrap: pivot_root: Invalid argument", {}, "ramdisk"],
    [
      "/usr/bin/bwrap can't be started: pidfd_open: Function not implemented",
      { container: "docker" },
      "outside of gVisor",
    ],
  ] as const)("%s %j: %s", (reason, facts, expected) => {
    expect(fix(reason, facts)).toContain(expected);
  });

  it("says nothing where it does not know", () => {
    expect(fix("bwrap: Can't find source path /x: No such file or directory", {})).toBeUndefined();
    expect(fix(kNoNamespace, {})).toBeUndefined();
    expect(fix("", {})).toBeUndefined();
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
