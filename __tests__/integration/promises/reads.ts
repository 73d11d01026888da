/** Promise 1: a command reads only what is mounted. */

import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

import { isRoot } from "../support/gate.js";
import type { Seen } from "../support/seen.js";
import { type Promised, says } from "./promise.js";
import { bindsWith, kProbe, kSecret, type Scene } from "./scene.js";

const hidden = (seen: Seen): void => {
  expect(seen.out).not.toContain(kSecret);
  expect(seen.exitCode).not.toBe(0);
};
const shown = (seen: Seen): void => {
  expect(seen).toMatchObject({ out: kSecret, exitCode: 0 });
};

function readsFile(name: string, path: (scene: Scene) => string): Promised {
  return {
    name: `reads ${name}`,
    command: (scene) => ["cat", path(scene)],
    refused: hidden,
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

function showsDirectory(directory: string): Promised {
  return {
    name: `sees ${directory}`,
    command: () => ["ls", "-d", directory],
    refused: (seen) => expect(seen).toMatchObject({ exitCode: 2, out: "" }),
    control: "local",
    reached: (seen) => expect(seen).toMatchObject({ exitCode: 0, out: directory }),
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
    name: `reads ${path}`,
    command: () => `cat ${path}`,
    refused: (seen) => expect(seen.out).toBe(""),
    control: "local",
    reached: (seen) => expect(seen.out).toBe(readFileSync(path, "utf8").replace(/\n$/, "")),
    onlyAsRoot: true,
  };
}

export function readRows(): Promised[] {
  return [
    readsFile("a key in a home directory", (scene) => scene.secrets.home),
    readsFile("a file in the host's /tmp", (scene) => scene.secrets.tmp),
    readsFile("a file in /var", (scene) => scene.secrets.var),
    readsFile("a file through ..", (scene) => `../../../../../..${scene.secrets.var}`),
    readsFile("a file through /proc/self/root", (scene) => `/proc/self/root${scene.secrets.var}`),
    readsFile(
      "a file through /proc/self/cwd",
      (scene) => `/proc/self/cwd/../../../..${scene.secrets.var}`,
    ),
    readsFile(
      "a file through its parent's root",
      (scene) => `/proc/thread-self/root${scene.secrets.tmp}`,
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
      name: "reads a file through the root of process 1",
      command: (scene, isControl) => [
        "cat",
        `/proc/${isControl ? "self" : "1"}/root${scene.secrets.var}`,
      ],
      refused: hidden,
      control: "local",
      reached: shown,
    },
    {
      name: "makes a hard link to a mounted file in the workspace",
      policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
      command: (scene) => {
        const to = link(scene, "hard", () => {});
        return [kProbe, "link", scene.secrets.outside, to];
      },
      refused: says("EXDEV"),
      control: "local",
      reached: says("OK"),
    },
    {
      name: "opens a file by its handle",
      command: (scene, isControl) => [
        kProbe,
        "by-handle",
        isControl ? scene.workspace : "/workspace",
      ],
      refused: says("EPERM"),
      control: "local",
      reached: says("OK"),
      onlyAsRoot: true,
    },
    {
      name: "reads a device of the host",
      command: () =>
        "ls /dev/kmsg /dev/mem /dev/vda /dev/sda /dev/tty0 /dev/loop0 /dev/vsock /dev/kvm",
      refused: (seen) => expect(seen.out).toBe(""),
      control: "local",
      reached: (seen) => expect(seen.out).not.toBe(""),
    },
    {
      name: "sees the host's processes",
      command: () => ["ls", "-d", `/proc/${process.pid}`],
      refused: (seen) => expect(seen).toMatchObject({ out: "", exitCode: 2 }),
      control: "local",
      reached: (seen) => expect(seen.exitCode).toBe(0),
    },
    {
      name: "looks into process 1",
      command: (_, isControl) =>
        `readlink /proc/${isControl ? "self" : "1"}/fd/0 /proc/${isControl ? "self" : "1"}/exe`,
      refused: (seen) => expect(seen.out).toBe(""),
      control: "local",
      reached: (seen) => expect(seen.out).toContain("readlink"),
    },
    ...kHostDirectories.filter((path) => existsSync(path)).map(showsDirectory),
    ...(isRoot ? secretFiles() : []).map(readsRootsFile),
  ];
}
