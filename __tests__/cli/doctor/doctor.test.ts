import { describe, expect, it } from "vitest";

import { doctorExitCode, doctorText } from "../../../lib/cli/doctor.js";
import { chosenOf, type DoctorReport, median } from "../../../lib/cli/doctor-report.js";
import { missingBwrapOptions } from "../../../lib/runtime/host-facts.js";
import { parseRuntimeConfig } from "../../../lib/runtime/parse-config.js";
import type { RuntimeName } from "../../../lib/runtime/runtime.js";

const kReport: DoctorReport = {
  version: "1.2.3",
  nesting: { nested: false, signs: [], proc: "private" },
  host: {
    platform: "linux",
    kernel: "6.8.0",
    arch: "x64",
    distribution: { ids: ["ubuntu"], version: "24.04", name: "Ubuntu 24.04 LTS" },
    uid: 1000,
    container: undefined,
    securityModules: undefined,
    appArmorProfile: undefined,
    landlockAbi: 4,
  },
  runtimeType: "auto",
  required: false,
  chosen: "landlock",
  run: { runtime: null, chosenBy: null, network: "deny", bwrapPath: "bwrap" },
  runtimes: [
    {
      name: "bubblewrap",
      available: false,
      state: "broken",
      reason: "bwrap: setting up uid map: Permission denied",
      fix: "first line\nsecond line",
      layers: [],
      probes: [],
    },
    {
      name: "landlock",
      available: true,
      state: "available",
      layers: ["landlock-fs", "no-sockets"],
      probes: [
        { name: "read-secret", verdict: "refused" },
        { name: "reach-abstract", verdict: "layer", detail: "no-sockets" },
      ],
      emptyRunMs: 2.345,
    },
    {
      name: "firejail",
      available: false,
      state: "missing",
      reason: "firejail not found on the host's PATH (/usr/bin)",
      fix: "install it: apt-get install firejail",
      layers: [],
      probes: [],
    },
    { name: "native", available: true, state: "available", layers: [], probes: [], emptyRunMs: 1 },
  ],
  tools: {
    tools: [
      { name: "nvm", root: "/h/.nvm", shown: ["/h/.nvm/versions"], cannot: "npm install -g" },
    ],
    leftOut: [{ path: "/h/shared", why: "others can write to /h/shared" }],
  },
  devices: [
    { family: "nvidia", available: false, reason: "/dev/nvidiactl, which is a FIFO" },
    { family: "kvm", available: true },
  ],
  bounds: [
    { limit: "cpuShare", kept: false, reason: "no group", fix: "delegate\none" },
    { limit: "writeBytes", kept: true, by: "counting" },
  ],
  warnings: ["A and B contradict each other"],
};

describe("doctorText", () => {
  const text = doctorText(kReport, false);

  it("tells state, cost, layers, why not and the fix", () => {
    expect(text).toMatch(/native-runner 1\.2\.3 on Ubuntu 24\.04 LTS, Linux 6\.8\.0, x64\n/);
    expect(text).toMatch(/Bubblewrap │ broken {8}│ - /);
    expect(text).toMatch(/Landlock {3}│ available {5}│ 2\.3 ms {4}│ landlock-fs, no-sockets/);
    expect(text).toMatch(/Native {5}│ not confined {2}│ 1\.0 ms/);
    expect(text).toContain("  fix: first line\n       second line\n");
    expect(text).toContain("  layer    reach an abstract socket of the host (no-sockets)");
    expect(text).toMatch(/nvm +│ \/h\/\.nvm\/versions +│ npm install -g/);
    expect(text).toContain("  not shown: /h/shared: others can write to /h/shared\n");
    expect(text).toContain("\n  nvidia  no: /dev/nvidiactl, which is a FIFO\n  kvm     yes\n");
    expect(doctorText({ ...kReport, devices: [] }, false)).not.toContain("--device");
  });

  it("tells which limits are kept, by what, and the fix of the others", () => {
    expect(text).toContain(
      "\n  cpuShare      not kept: no group\n    fix: delegate\n       one\n  writeBytes    counting\n",
    );
    expect(doctorText({ ...kReport, bounds: [] }, false)).not.toContain("writeBytes");
    expect(text).toContain("warning: A and B contradict each other");
    expect(text.split("\n").at(-1)).toBe("auto takes landlock");
  });

  it("tells what being nested comes to, and nothing of it where we are not", () => {
    expect(text).not.toContain("nested");
    const nested = { nested: true, signs: ["/.dockerenv", "bwrap as parent"] };
    const said = (nesting: DoctorReport["nesting"]) => doctorText({ ...kReport, nesting }, false);
    expect(said({ ...nested, proc: "private" })).toContain(
      "\nnested (/.dockerenv, bwrap as parent): a sandbox inside it can mount its own /proc\n",
    );
    expect(said({ ...nested, proc: "host" })).toMatch(
      /nested .*: .* the outer \/proc, read-only\n/,
    );
  });

  it("says of a place where bwrap can make no sandbox which runtimes still confine", () => {
    const nesting = { nested: true, signs: ["/.dockerenv"], proc: null, reason: "no /proc" };
    const report = { ...kReport, nesting: { ...nesting, fix: "mount one" } };
    expect(doctorText(report, false)).toContain(
      "\nnested (/.dockerenv): Bwrap can make no sandbox inside; Landlock can confine commands\n" +
        "  why: no /proc\n  fix: mount one\n",
    );
    const runtimes = kReport.runtimes.map((runtime) =>
      runtime.name === "native" ? runtime : { ...runtime, available: false },
    );
    expect(doctorText({ ...report, runtimes }, false)).toContain(
      "\nnested (/.dockerenv): no sandbox can be made inside\n  why: no /proc\n",
    );
  });

  it("tells whether clones are used", () => {
    const said = (clones: NonNullable<DoctorReport["runtimes"][number]["clones"]>) =>
      doctorText(
        { ...kReport, runtimes: kReport.runtimes.map((runtime) => ({ ...runtime, clones })) },
        false,
      );
    expect(said({ state: "proved", probes: [] })).toContain(
      "\n  clones: used; in one, the same was refused\n",
    );
    expect(said({ state: "unused", reason: "it has no /proc", probes: [] })).toContain(
      "\n  clones: not used: it has no /proc\n",
    );
    expect(text).not.toContain("clones");
  });

  it("tells whether runs can have secrets", () => {
    const said = (secrets: NonNullable<DoctorReport["runtimes"][number]["secrets"]>) =>
      doctorText(
        { ...kReport, runtimes: kReport.runtimes.map((runtime) => ({ ...runtime, secrets })) },
        false,
      );
    expect(said({ state: "proved" })).toContain("\n  secrets: a command got a placeholder, ");
    expect(said({ state: "broken", reason: "it has no thread" })).toContain(
      "\n  secrets: can't be used: it has no thread\n",
    );
    expect(text).not.toContain("secrets");
  });

  it("tells what this bwrap lacks, and what does not work therefore", () => {
    const lacks = missingBwrapOptions("--as-pid-1\n --perms OCTAL\n --size BYTES\n --bind-fd-try");
    const [bubblewrap, ...others] = kReport.runtimes;
    if (bubblewrap === undefined) throw new Error("no runtime");
    expect(
      doctorText({ ...kReport, runtimes: [{ ...bubblewrap, lacks }, ...others] }, false),
    ).toContain(`
  this bwrap lacks --bind-fd: no prewarmed or cloned sandboxes, and no transactions by overlay
  this bwrap lacks --disable-userns: no layer userns-disabled; seccomp refuses them
`);
    expect(text).not.toContain("lacks");
    expect(missingBwrapOptions("--bind-fd FD --disable-userns --perms --size")).toEqual([]);
  });

  it("has colours only where they are wanted, and no line beyond 105 columns", () => {
    expect(text).not.toContain("\x1b");
    expect(doctorText(kReport, true)).toContain("\x1b[");
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(105);
  });

  it.each([
    [{ chosen: null }, "no sandbox works here"],
    [
      { chosen: null, required: true },
      "no sandbox works here, and one is required: nothing will run",
    ],
    [{ chosen: null, runtimeType: "firejail" }, "firejail does not work here"],
    [{ chosen: "landlock", runtimeType: "landlock" }, "landlock works"],
    [{ chosen: "native" }, "auto runs commands WITHOUT a sandbox"],
  ] as const)("concludes from %j: %s", (changes, last) => {
    expect(
      doctorText({ ...kReport, ...changes }, false)
        .split("\n")
        .at(-1),
    ).toBe(last);
  });
});

describe("what run takes", () => {
  const said = (run: DoctorReport["run"]) => doctorText({ ...kReport, run }, false).split("\n");
  const run = { network: "deny", bwrapPath: "/opt/bwrap" } as const;

  it("is told beside the conclusion", () => {
    expect(said({ ...run, runtime: "bubblewrap", chosenBy: null }).at(-2)).toBe(
      "`run` takes bubblewrap (default), network: deny, bwrap: /opt/bwrap",
    );
    expect(said({ ...run, runtime: "landlock", chosenBy: "OPENAGENTIC_RUNTIME_TYPE" }).at(-2)).toBe(
      "`run` takes landlock (OPENAGENTIC_RUNTIME_TYPE), network: deny",
    );
  });

  it("is told also where its default does not work and another would", () => {
    expect(said({ ...run, runtime: null, chosenBy: null }).slice(-2)).toEqual([
      "`run` takes bubblewrap (default), which does not work here",
      "auto takes landlock",
    ]);
    expect(said({ ...run, runtime: null, chosenBy: "--config" }).join()).not.toContain("`run`");
  });
});

describe("doctorExitCode", () => {
  it.each([
    ["auto", "bubblewrap", 0],
    ["auto", null, 1],
    ["auto", "native", 1],
    ["native", "native", 0],
    ["firejail", null, 1],
    ["firejail", "native", 1],
  ] as const)("of %s that takes %s is %d", (runtimeType, chosen, code) => {
    expect(doctorExitCode({ ...kReport, runtimeType, chosen })).toBe(code);
  });
});

describe("chosenOf", () => {
  const choose = (config: object, available: RuntimeName[], required = false) =>
    chosenOf({ config: parseRuntimeConfig(config), required }, new Set(available));

  it("takes what createRuntime would", () => {
    expect(choose({}, ["landlock", "firejail", "native"])).toBe("landlock");
    expect(choose({}, ["native"])).toBeNull();
    expect(choose({ allowFallbackToNative: true }, ["native"])).toBe("native");
    expect(choose({ allowFallbackToNative: true }, ["native"], true)).toBeNull();
    expect(choose({ runtimeType: "firejail" }, ["bubblewrap"])).toBeNull();
    expect(choose({ runtimeType: "native" }, ["native"])).toBe("native");
    expect(choose({ runtimeType: "native", required: ["seccomp"] }, ["native"])).toBeNull();
  });
});

it("median is the lower one", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2);
  expect(median([])).toBeUndefined();
});
