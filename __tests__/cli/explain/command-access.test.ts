import { describe, expect, it } from "vitest";

import { accessOf } from "../../../lib/cli/explain.js";
import { parseRuntimeConfig } from "../../../lib/runtime/parse-config.js";

const kMounts = [
  { hostPath: "/srv", mode: "ro" },
  { hostPath: "/cache", guestPath: "/workspace/cache", mode: "rw" },
];

const access = (bubblewrap: object) =>
  accessOf(
    "bubblewrap",
    parseRuntimeConfig({ bubblewrap: { roBinds: ["/usr"], ...bubblewrap } }),
    "/w",
  );

describe("what Bubblewrap lets a command do", () => {
  it.each([
    [{}, "/w (at /workspace), and a private /tmp", "/usr"],
    [{ allowWriteWorkspace: false }, "a private /tmp; /w (at /workspace) is read-only", "/usr"],
    [
      { mounts: kMounts },
      "/w (at /workspace), /cache (at /workspace/cache), and a private /tmp",
      "/usr /srv",
    ],
    [
      { mounts: kMounts, allowWriteWorkspace: false },
      "/cache (at /workspace/cache), and a private /tmp; /w (at /workspace) is read-only",
      "/usr /srv",
    ],
  ])("of %j", (bubblewrap, writes, reads) => {
    expect(access(bubblewrap)).toEqual({ writes, reads: `${reads}; a private /proc and /dev` });
  });
});
