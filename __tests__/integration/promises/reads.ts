/** Promise 1: a command reads only what is mounted. */

import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect } from "vitest";

import { isRoot } from "../support/requirements.js";
import type { Seen } from "../support/results.js";
import { bindsWith, kProbe, kSecret, type Scene } from "./probed-host.js";
import { type Promised, says } from "./promise.js";

const hidden = (seen: Seen): void => {
  expect(seen.out).not.toContain(kSecret);
  expect(seen.exitCode).not.toBe(0);
};
const shown = (seen: Seen): void => {
  expect(seen).toMatchObject({ out: kSecret, exitCode: 0 });
};

function readsFile(name: string, path: (scene: Scene) => string): Promised {
  return {
    promise: "read-outside",
    name: `reads ${name}`,
    command: (scene) => ["cat", path(scene)],
    kept: hidden,
    control: "local",
    reached: shown,
  };
}

/** Makes workspace/NAME anew by `make` and returns its name. */
function link(scene: Scene, name: string, make: (to: string) => void): string {
  const path = join(scene.workspace, name);
  rmSync(path, { force: true });
  make(path);
  return name;
}

const kHostDirectories = [
  "/home",
  "/root",
  "/var",
  "/run",
  "/sys",
  "/boot",
  "/opt",
  "/srv",
  "/mnt",
];

/** A home of the sandbox's own, and tools of PATH, may be below it; nothing else of the host is. */
function showsFiles(directory: string): Promised {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const others = files.filter((name) => name !== ".gitconfig");
  const seenOf = (seen: Seen) => seen.out.split("\n").filter((name) => others.includes(name));
  return {
    promise: "read-outside",
    name: `sees the files in ${directory}`,
    command: () => ["ls", "-A", directory],
    kept: (seen) => expect(seenOf(seen)).toEqual([]),
    control: "local",
    reached: (seen) => expect(seenOf(seen).sort()).toEqual(others.sort()),
  };
}

function showsDirectory(directory: string): Promised {
  // A user who runs with root's PATH can't look into root's home.
  const shown = [homedir(), ...(process.env.PATH ?? "").split(":")].filter((path) =>
    existsSync(path),
  );
  if (shown.some((path) => `${path}/`.startsWith(`${directory}/`))) return showsFiles(directory);
  return {
    promise: "see-root",
    name: `sees ${directory}`,
    command: () => ["ls", "-d", directory],
    kept: (seen) => expect(seen).toMatchObject({ exitCode: 2, out: "" }),
    control: "local",
    reached: (seen) => expect(seen).toMatchObject({ exitCode: 0, out: directory }),
  };
}

/** Devices that no sandbox should show and this user can open, as far as this host has them. */
function openableDevices(): string[] {
  const devices = ["kmsg", "vda", "sda", "loop0", "vsock", "kvm", "fuse", "net/tun", "hwrng"];
  return devices
    .map((name) => `/dev/${name}`)
    .filter((path) => {
      try {
        closeSync(openSync(path, "r"));
        return true;
      } catch {
        return false; // not there, or not for this user
      }
    });
}

function opensDevice(path: string): Promised {
  return {
    promise: "devices",
    name: `opens ${path}`,
    command: () => [kProbe, "open-read", path],
    kept: says("ENOENT", "EACCES"),
    control: "local",
    reached: says("OK"),
  };
}

/** What root alone may read, as far as this host has it. */
function secretFiles(): string[] {
  const inDirectory = (directory: string, pattern: RegExp): string[] =>
    existsSync(directory)
      ? readdirSync(directory)
          .filter((name) => pattern.test(name))
          .map((name) => join(directory, name))
      : [];
  const named = ["shadow", "shadow-", "gshadow", "gshadow-", "sudoers"].map(
    (name) => `/etc/${name}`,
  );
  const found = [
    ...named,
    ...inDirectory("/etc/sudoers.d", /./),
    ...inDirectory("/etc/ssh", /_key$/),
    ...inDirectory("/etc/ssl/private", /./),
  ];
  return found.filter(
    (path) => existsSync(path) && statSync(path).isFile() && statSync(path).size > 0,
  );
}

function readsRootsFile(path: string): Promised {
  return {
    promise: "root-secrets",
    name: `reads ${path}`,
    command: () => `cat ${path}`,
    kept: (seen) => expect(seen.out).toBe(""),
    control: "local",
    reached: (seen) => expect(seen.out).toBe(readFileSync(path, "utf8").replace(/\n$/, "")),
    onlyAsRoot: true,
  };
}

export function readRows(): Promised[] {
  return [
    readsFile("a key in a home directory", (scene) => scene.secrets.home),
    readsFile("a file in /var", (scene) => scene.secrets.var),
    readsFile("a file through ..", (scene) => `../../../../../..${scene.secrets.var}`),
    readsFile("a file through /proc/self/root", (scene) => `/proc/self/root${scene.secrets.var}`),
    readsFile(
      "a file through /proc/self/cwd",
      (scene) => `/proc/self/cwd/../../../..${scene.secrets.var}`,
    ),
    readsFile(
      "a file through its parent's root",
      (scene) => `/proc/thread-self/root${scene.secrets.var}`,
    ),
    readsFile(
      "a file through the host process's root",
      (scene) => `/proc/${process.pid}/root${scene.secrets.var}`,
    ),
    readsFile("a file through a symbolic link in the workspace", (scene) =>
      link(scene, "symbolic", (to) => symlinkSync(scene.secrets.var, to)),
    ),
    readsFile("a file through a link to a directory", (scene) => {
      link(scene, "upwards", (to) => symlinkSync("/", to));
      return `upwards${scene.secrets.var}`;
    }),
    {
      promise: "read-outside",
      name: "reads a file through the root of process 1",
      command: (scene, isControl) => [
        "cat",
        `/proc/${isControl ? "self" : "1"}/root${scene.secrets.var}`,
      ],
      kept: hidden,
      control: "local",
      reached: shown,
      hostMayRefuse: true,
    },
    {
      promise: "read-outside",
      name: "makes a hard link to a mounted file in the workspace",
      policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
      command: (scene) => {
        const to = link(scene, "hard", () => {});
        return [kProbe, "link", scene.secrets.outside, to];
      },
      kept: says("EXDEV", "EACCES"),
      control: "local",
      reached: says("OK"),
    },
    {
      promise: "no-privileges",
      name: "opens a file by its handle",
      // Not of the workspace, which may be an overlay: that gives no handle, whoever asks.
      command: () => [kProbe, "by-handle", "/usr"],
      kept: says("EPERM"),
      control: "local",
      reached: says("OK"),
      onlyAsRoot: true,
    },
    {
      promise: "see-outside",
      name: "sees the size of a file",
      command: (scene) => ["stat", "-c", "%s", scene.secrets.var],
      kept: (seen) => expect(seen).toMatchObject({ out: "", exitCode: 1 }),
      control: "local",
      reached: (seen) => expect(seen.out).toBe(String(kSecret.length)),
    },
    {
      promise: "private-tmp",
      name: "reads a file in the host's /tmp",
      command: (scene) => ["cat", scene.secrets.tmp],
      kept: hidden,
      control: "local",
      reached: shown,
    },
    {
      promise: "private-tmp",
      name: "sees what the host's /tmp holds",
      command: () => ["ls", "-A", "/tmp"],
      kept: (seen, scene) => {
        expect(seen.out.split("\n")).not.toContain(basename(dirname(scene.secrets.tmp)));
        expect(seen.exitCode).toBe(0);
      },
      control: "local",
      reached: (seen, scene) =>
        expect(seen.out.split("\n")).toContain(basename(dirname(scene.secrets.tmp))),
    },
    ...openableDevices().map(opensDevice),
    ...kHostDirectories.filter((path) => existsSync(path)).map(showsDirectory),
    ...(isRoot ? secretFiles() : []).map(readsRootsFile),
  ];
}
