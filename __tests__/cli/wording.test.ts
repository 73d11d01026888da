import { describe, expect, it } from "vitest";

import { inCliWords } from "../../lib/cli/reason.js";

describe("inCliWords", () => {
  it.each([
    [
      'NativeRunner.exec: cwd must stay inside the workspace, got "../x"',
      '--cwd must stay inside the workspace, got "../x"',
    ],
    [
      "LocalNativeRunner: cwd must be workspace-relative (no '..')",
      "--cwd must be workspace-relative (no '..')",
    ],
    [
      'shadowDir must be a directory when a run starts, got "/x": Not a directory',
      '--workspace is no directory: "/x": Not a directory',
    ],
    ["limits.maxProcesses can't be enforced here", "--max-processes can't be enforced here"],
    ["Expected `limits.memoryBytes` to be an integer", "Expected --memory to be an integer"],
    [
      "Expected `resourceLimits.maxMemoryBytes` to be an integer from 65536",
      "Expected --memory to be an integer from 65536",
    ],
    [
      'mounts[1].hostPath ("cache") names "/x", which this host lacks',
      'a mount ("cache") names "/x", which this host lacks',
    ],
    ["remove it from mounts, or create it", "leave it out, or create it"],
    [
      'mounts[0].guestPath "/workspace/x" can\'t be mounted upon',
      'a mount at "/workspace/x" can\'t be mounted upon',
    ],
    [
      'Expected `mounts[0].guestPath` to be a path that does not hide /workspace, got "/"',
      'Expected the guest path of --mount to be a path that does not hide /workspace, got "/"',
    ],
    [
      'Expected `mounts[2].guestPath` to be another than `mounts[0].guestPath`, got "/a"',
      'Expected one --mount for "/a"',
    ],
    [
      'Expected `mounts[2].guestPath` to be a path that does not hide `mounts[0].guestPath`, got "/a"',
      'Expected --mount to hide no earlier one, got "/a"',
    ],
    ["`wasmPath` can't be used: /x: it is no file", "the skill can't be used: /x: it is no file"],
    [
      "install Bubblewrap (…) or name its absolute path in bwrapPath",
      "install Bubblewrap (…) or name its absolute path with --bwrap",
    ],
  ])("says %s as a user of the command line would", (message, expected) => {
    expect(inCliWords(message)).toBe(expected);
  });

  it.each([
    "x.json: Expected `bubblewrap.bwrapPath` to be a string, got 7",
    "x.json: Unknown setting `bubblewrap.ro_bind`; did you mean `roBinds`?",
    "limits.unheardOf",
  ])("leaves the names that a configuration file has: %s", (message) => {
    expect(inCliWords(message)).toBe(message);
  });
});
