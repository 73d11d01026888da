/**
 * What a sandbox refuses, one row each: a command, what its denial says, and the option that lets it
 * through. OUTSIDE in it is a directory of the host's that no sandbox shows.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Denial } from "../support/package.js";

export type Row = {
  name: string;
  /** For bash. */
  script: string;
  /** Of the runner, besides the workspace. "shown": OUTSIDE is mounted read-only. */
  kind?: "shown" | "read-only workspace" | "landlock" | "firejail" | "network";
  limits?: Record<string, number>;
  /** The program only looks if it is there. */
  isLookedFor?: boolean;
  /** uid 0 has no such limit without a cgroup, or nobody to be kept from. */
  isForUser?: boolean;
  denial: Partial<Denial>;
  /** Absent: the denial says `notAdvised`. */
  grant?: string;
  /** The grant would open a network that the test has not. */
  isNotTried?: boolean;
};

/** What the commands find, on the host. */
export function fillOutside(outside: string, workspace: string): void {
  mkdirSync(join(outside, "several"));
  mkdirSync(join(outside, "empty"));
  for (const name of ["file", "other", "several/a", "several/b", "several/c"]) {
    writeFileSync(join(outside, name), "text\n");
  }
  for (const name of ["tool", "found"]) {
    writeFileSync(join(outside, name), "#!/bin/sh\nexit 0\n");
    chmodSync(join(outside, name), 0o755);
  }
  symlinkSync(join(outside, "file"), join(workspace, "link"));
  const git = (...words: string[]) =>
    execFileSync("git", ["-C", outside, "-c", "user.name=a", "-c", "user.email=a@b", ...words]);
  git("init", "-q", "repository");
  git("-C", "repository", "commit", "-q", "--allow-empty", "-m", "one");
  git("-C", "repository", "worktree", "add", "-q", join(workspace, "tree"));
}

const read = { kind: "read", by: "bubblewrap", errno: "ENOENT" } as const;
const write = { kind: "write", by: "bubblewrap", errno: "EROFS" } as const;
export const filter = { kind: "other", by: "seccomp", errno: "EPERM" } as const;

export const system = (number: number, ...args: number[]) =>
  `python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(${[number, ...args].join(", ")}) < 0)'`;

export const kRows: readonly Row[] = [
  { name: "a file", script: "cat OUTSIDE/file", denial: read, grant: "mounts" },
  {
    name: "a linked worktree's repository",
    script: "git -C tree status && git -C tree log",
    isLookedFor: true,
    denial: read,
    grant: "mounts",
  },
  { name: "a shell's input", script: "read line < OUTSIDE/file", denial: read, grant: "mounts" },
  {
    name: "python's open",
    script: `python3 -c 'open("OUTSIDE/file")'`,
    denial: read,
    grant: "mounts",
  },
  {
    name: "node's open",
    script: `node -e 'fs.readFileSync("OUTSIDE/file")'`,
    denial: read,
    grant: "mounts",
  },
  { name: "by a link in the workspace", script: "cat link", denial: read, grant: "mounts" },
  {
    name: "a working directory",
    script: "cd OUTSIDE/several",
    denial: { ...read, operation: "chdir" },
    grant: "mounts",
  },
  {
    name: "several of a directory",
    script: "cd /; cat OUTSIDE/several/a OUTSIDE/several/b OUTSIDE/several/c",
    denial: read,
    grant: "mounts",
  },
  { name: "a script to be sourced", script: ". OUTSIDE/tool", denial: read, grant: "mounts" },
  { name: "a program", script: "OUTSIDE/tool", denial: { ...read, kind: "exec" }, grant: "mounts" },
  {
    name: "a program, by env",
    script: "env OUTSIDE/tool",
    denial: { ...read, kind: "exec" },
    grant: "mounts",
  },
  {
    name: "a write to what is hidden",
    script: "echo a > OUTSIDE/file",
    denial: { ...write, errno: "ENOENT" },
    grant: "mounts",
  },
  {
    name: "a new file in what is hidden",
    script: "echo a > OUTSIDE/new1",
    denial: { ...write, errno: "ENOENT" },
    grant: "mounts",
  },
  {
    name: "a write",
    kind: "shown",
    script: "echo a > OUTSIDE/file",
    denial: write,
    grant: "mounts",
  },
  {
    name: "an append",
    kind: "shown",
    script: "echo a >> OUTSIDE/file",
    denial: write,
    grant: "mounts",
  },
  {
    name: "a new file",
    kind: "shown",
    script: "echo a > OUTSIDE/new2",
    denial: write,
    grant: "mounts",
  },
  {
    name: "mkdir",
    kind: "shown",
    script: "mkdir OUTSIDE/made",
    denial: { ...write, operation: "mkdir" },
    grant: "mounts",
  },
  {
    name: "rmdir",
    kind: "shown",
    script: "rmdir OUTSIDE/empty",
    denial: { ...write, operation: "rmdir" },
    grant: "mounts",
  },
  {
    name: "rename",
    kind: "shown",
    script: "mv OUTSIDE/other OUTSIDE/renamed",
    denial: write,
    grant: "mounts",
  },
  {
    name: "unlink",
    kind: "shown",
    script: "rm -f OUTSIDE/renamed OUTSIDE/several/c",
    denial: { ...write, operation: "unlinkat" },
    grant: "mounts",
  },
  {
    name: "chmod",
    kind: "shown",
    script: "chmod 600 OUTSIDE/file",
    denial: write,
    grant: "mounts",
  },
  {
    name: "a hard link",
    kind: "shown",
    script: "ln OUTSIDE/file OUTSIDE/hard",
    denial: write,
    grant: "mounts",
  },
  {
    name: "a symbolic link",
    kind: "shown",
    script: "ln -s file OUTSIDE/soft",
    denial: write,
    grant: "mounts",
  },
  {
    name: "times",
    kind: "shown",
    script: "touch -d 2020-01-01 OUTSIDE/file",
    denial: write,
    grant: "mounts",
  },
  {
    name: "truncate",
    kind: "shown",
    script: "truncate -s 0 OUTSIDE/file",
    denial: write,
    grant: "mounts",
  },
  { name: "a fifo", kind: "shown", script: "mkfifo OUTSIDE/fifo", denial: write, grant: "mounts" },
  {
    name: "the workspace",
    kind: "read-only workspace",
    script: "echo a > new3",
    denial: write,
    grant: "allowWriteWorkspace",
  },
  {
    name: "an address of IPv4",
    script: "exec 3<>/dev/tcp/192.0.2.1/80",
    denial: { kind: "connect", by: "network", errno: "ENETUNREACH", host: "192.0.2.1", port: 80 },
  },
  {
    name: "an address of IPv6",
    script: "exec 3<>/dev/tcp/2001:db8::1/80",
    denial: { kind: "connect", by: "network", errno: "ENETUNREACH", host: "2001:db8::1", port: 80 },
  },
  {
    name: "a name",
    script: "curl -s http://name.test/",
    denial: { kind: "resolve", by: "network", host: "name.test" },
    grant: "network.allow",
    isNotTried: true,
  },
  {
    name: "a name that no rule allows",
    kind: "network",
    script: "curl -s http://name.test/",
    denial: { kind: "connect", by: "network", host: "name.test", port: 80 },
    grant: "network.allow",
    isNotTried: true,
  },
  {
    name: "a user namespace",
    script: "unshare -U true",
    denial: { ...filter, operation: "unshare" },
  },
  { name: "keyctl", script: system(250, 0, 0), denial: { ...filter, operation: "keyctl" } },
  { name: "bpf", script: system(321, 0, 0, 0), denial: { ...filter, operation: "bpf" } },
  { name: "mount", script: system(165, 0, 0, 0, 0, 0), denial: { ...filter, operation: "mount" } },
  { name: "umount", script: system(166, 0, 0), denial: { ...filter, operation: "umount2" } },
  { name: "chroot", script: system(161, 0), denial: { ...filter, operation: "chroot" } },
  {
    name: "a packet socket",
    script: `python3 -c 'import socket; socket.socket(17, 3)'`,
    denial: { ...filter, operation: "socket", errno: "EAFNOSUPPORT" },
  },
  {
    name: "CPU time",
    script: "while :; do :; done",
    limits: { cpuSeconds: 1 },
    denial: { by: "limits", operation: "cpuSeconds" },
    grant: "limits.cpuSeconds",
    isNotTried: true,
  },
  {
    name: "CPU time, of a process of the command's",
    script: "(while :; do :; done); exit 1",
    limits: { cpuSeconds: 1 },
    denial: { by: "limits", operation: "cpuSeconds", program: "bash", errno: "" },
    grant: "limits.cpuSeconds",
    isNotTried: true,
  },
  {
    name: "memory",
    script: `/usr/bin/python3 -c 'bytearray(150_000_000)'`,
    limits: { memoryBytes: 100_000_000 },
    denial: { by: "limits", operation: "memoryBytes" },
    grant: "limits.memoryBytes",
  },
  {
    name: "processes",
    script: `/usr/bin/python3 -c 'import os, time
for n in range(4):
  if os.fork() == 0: time.sleep(0.5); os._exit(0)'`,
    limits: { maxProcesses: 4 },
    isForUser: true,
    denial: { by: "limits", operation: "maxProcesses", errno: "EAGAIN" },
    grant: "limits.maxProcesses",
  },
  {
    name: "a large file, of a process of the command's",
    script: "head -c 3000 /dev/zero > large2; test $(stat -c %s large2) = 3000",
    limits: { maxFileBytes: 2000 },
    denial: { by: "limits", operation: "maxFileBytes", program: "head" },
    grant: "limits.maxFileBytes",
  },
  {
    name: "a large file",
    script: "exec head -c 3000 /dev/zero > large",
    limits: { maxFileBytes: 2000 },
    denial: { by: "limits", operation: "maxFileBytes" },
    grant: "limits.maxFileBytes",
  },
  {
    name: "open files",
    script: "exec 3<. 4<. 5<. 6<. 7<. 8<. 9<.",
    limits: { maxOpenFiles: 8 },
    denial: { by: "limits", operation: "maxOpenFiles", errno: "EMFILE" },
    grant: "limits.maxOpenFiles",
  },
];
