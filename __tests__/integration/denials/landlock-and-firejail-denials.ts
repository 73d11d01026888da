/** What Landlock and Firejail refuse, as bubblewrap-denials.ts has it for Bubblewrap. */

import { filter, type Row, system } from "./bubblewrap-denials.js";

export const kRuntimeRows: readonly Row[] = [
  {
    name: "a file, by Landlock",
    kind: "landlock",
    script: "cat OUTSIDE/file",
    denial: { kind: "read", by: "landlock", errno: "EACCES" },
    grant: "fsReadDirs",
  },
  {
    name: "a write, by Landlock",
    kind: "landlock",
    script: "echo a > OUTSIDE/file",
    denial: { kind: "write", by: "landlock", errno: "EACCES" },
    grant: "fsWriteDirs",
  },
  {
    name: "mkdir, by Landlock",
    kind: "landlock",
    script: "mkdir OUTSIDE/made2",
    denial: { kind: "write", by: "landlock", errno: "EACCES" },
    grant: "fsWriteDirs",
  },
  {
    name: "a program, by Landlock",
    kind: "landlock",
    script: "OUTSIDE/tool",
    denial: { kind: "exec", by: "landlock", errno: "EACCES" },
    grant: "fsReadDirs",
  },
  {
    name: "a relative path, by Landlock",
    kind: "landlock",
    script: "cd OUTSIDE/several && cat a",
    denial: { kind: "read", by: "landlock", errno: "EACCES", program: "cat" },
    grant: "fsReadDirs",
  },
  {
    name: "a directory's list, by Landlock",
    kind: "landlock",
    script: "ls OUTSIDE/several",
    denial: { kind: "read", by: "landlock", errno: "EACCES", program: "ls" },
    grant: "fsReadDirs",
  },
  {
    name: "a removal, by Landlock",
    kind: "landlock",
    script: "rm OUTSIDE/several/c",
    denial: { kind: "write", by: "landlock", errno: "EACCES" },
    grant: "fsWriteDirs",
  },
  {
    name: "a signal to another's process, by Landlock",
    kind: "landlock",
    script: "kill -0 1",
    denial: { kind: "other", by: "landlock", errno: "EPERM", operation: "kill" },
  },
  {
    name: "ptrace of another's process, by Landlock",
    kind: "landlock",
    script: system(101, 16, 1, 0, 0).replace("python3", "/usr/bin/python3"),
    denial: { kind: "other", by: "landlock", errno: "EPERM", operation: "ptrace" },
  },
  {
    name: "mount, by Landlock",
    kind: "landlock",
    script: system(165, 0, 0, 0, 0, 0).replace("python3", "/usr/bin/python3"),
    denial: { ...filter, operation: "mount" },
  },
  {
    name: "a socket of the internet, by Landlock's filter",
    kind: "landlock",
    script: `/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET)'`,
    denial: { kind: "connect", by: "seccomp", errno: "EACCES", operation: "socket" },
    grant: "network",
  },
  {
    name: "a socket of IPv6, after one that is not told, by Landlock's filter",
    kind: "landlock",
    script: `/usr/bin/python3 -c '
import errno, socket
try:
    socket.socket(socket.AF_UNIX)
    raise SystemExit("a socket with a path was made")
except OSError as error:
    assert error.errno == errno.EACCES
socket.socket(socket.AF_INET6)'`,
    denial: { kind: "connect", by: "seccomp", errno: "EACCES", operation: "socket" },
    grant: "network",
    isNotTried: true,
  },
  {
    name: "a write, by Firejail",
    kind: "firejail",
    script: "echo a > OUTSIDE/file",
    denial: { kind: "write", by: "firejail" },
    grant: "fsWriteDirs",
  },
  {
    name: "mkdir, by Firejail",
    kind: "firejail",
    script: "mkdir OUTSIDE/made3",
    denial: { kind: "write", by: "firejail" },
    grant: "fsWriteDirs",
  },
  {
    name: "a program, by Firejail",
    kind: "firejail",
    script: "OUTSIDE/tool",
    denial: { kind: "exec", by: "firejail" },
    grant: "fsReadDirs",
  },
  {
    name: "an address, by Firejail",
    kind: "firejail",
    script: "exec 3<>/dev/tcp/192.0.2.1/80",
    denial: { kind: "connect", by: "network", errno: "ENETUNREACH", host: "192.0.2.1" },
    grant: "network",
    isNotTried: true,
  },
  {
    name: "mount, by Firejail",
    kind: "firejail",
    script: system(165, 0, 0, 0, 0, 0),
    denial: { ...filter, operation: "mount" },
  },
  {
    name: "a file, by Firejail",
    kind: "firejail",
    script: "cat OUTSIDE/file",
    denial: { kind: "read", by: "firejail" },
    grant: "fsReadDirs",
  },
];
