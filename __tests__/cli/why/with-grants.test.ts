import { describe, expect, it } from "vitest";

import { type CliOptions, withGrants, withMounts } from "../../../lib/cli/options.js";
import type { Denial, Grant } from "../../../types/public.js";

const of = (grant: Omit<Grant, "cli">, cli = "--option"): Denial =>
  ({
    kind: "read",
    operation: "openat",
    errno: "ENOENT",
    by: "bubblewrap",
    count: 1,
    grant: { ...grant, cli },
  }) as Denial;

describe("a command line with grants", () => {
  it.each([
    [
      { option: "mounts", value: { hostPath: "/a", mode: "ro" } },
      { mount: [{ hostPath: "/a", mode: "ro" }] },
    ],
    [{ option: "fsReadDirs", value: "/a" }, { roBind: ["/a"] }],
    [{ option: "network.allow", value: "a.test" }, { allowHost: ["a.test"] }],
    [{ option: "network", value: "allow" }, { network: "allow" }],
    [{ option: "limits.memoryBytes", value: 8 }, { memory: 8 }],
    [{ option: "limits.cpuSeconds", value: 2 }, { cpu: 2000 }],
    [{ option: "limits.maxProcesses", value: 8 }, { maxProcesses: 8 }],
    [{ option: "limits.maxOpenFiles", value: 8 }, { maxOpenFiles: 8 }],
    [{ option: "limits.maxFileBytes", value: 8 }, { maxFile: 8 }],
    [{ option: "limits.writeBytes", value: 8 }, { maxWrite: 8 }],
    [{ option: "allowWriteWorkspace", value: true }, {}],
  ])("%j", (grant, options) => {
    expect(withGrants({} as CliOptions, [of(grant as Grant)])).toEqual(options);
  });

  it("leaves what the command line can't say, and what is not advised", () => {
    const { grant: _, ...refused } = of({ option: "network", value: "allow" });
    const unsaid = of({ option: "mounts", value: { hostPath: "/a:b", mode: "ro" } }, "");
    expect(withGrants({} as CliOptions, [refused, unsaid])).toEqual({});
  });

  it("has each value once", () => {
    const same = [
      of({ option: "fsReadDirs", value: "/a" }),
      of({ option: "fsReadDirs", value: "/a" }),
    ];
    expect(withGrants({ roBind: ["/usr"] } as unknown as CliOptions, same)).toEqual({
      roBind: ["/usr", "/a"],
    });
  });

  it("names hosts in place of a network that is all or nothing", () => {
    const denials = [of({ option: "network.allow", value: "a.test" })];
    expect(withGrants({ network: "deny" } as CliOptions, denials)).toEqual({
      allowHost: ["a.test"],
    });
  });
});

describe("mounts", () => {
  it("replace what is at their place, and stand behind what holds them", () => {
    const given = [
      { hostPath: "/a/b", mode: "ro" as const },
      { hostPath: "/x", guestPath: "/a", mode: "ro" as const },
    ];
    expect(withMounts(given, [{ hostPath: "/a/b", mode: "rw" }])).toEqual([
      { hostPath: "/x", guestPath: "/a", mode: "ro" },
      { hostPath: "/a/b", mode: "rw" },
    ]);
  });
});
