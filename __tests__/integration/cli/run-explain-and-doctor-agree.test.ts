/**
 * `run`, `explain` and `doctor` see one policy, wherever it comes from: what each says of it is
 * compared. They need a built dist/.
 */

import { spawnSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import { describeUnless, plainEnvironment } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kMain = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const kWorkspace = tempDirectory();

type Sources = { env?: NodeJS.ProcessEnv; options?: readonly string[]; config?: object };
type Policy = { runtime: string | null; network: string; bwrap: string };

function configFile(config: object): string {
  const path = join(tempDirectory(), "runtime.json");
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function cli(name: "run" | "explain" | "doctor", { env, options = [], config }: Sources) {
  const file = config === undefined ? [] : ["--config", configFile(config)];
  const command = name === "doctor" ? [] : ["--", "true"];
  const [program = "", ...words] = kNodeInside;
  const args = [...words, kMain, name, "--json", ...options, ...file, ...command];
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: kWorkspace,
    encoding: "utf8",
    env: { ...plainEnvironment(), ...env },
    timeout: kHungMs,
  });
  return { status, stdout, stderr };
}

/** What --json prints where nothing was run. */
const refusedAs = (exitCode: number, words: string) => ({
  exitCode,
  error: expect.objectContaining({ message: expect.stringContaining(words) }),
});

const denies = (layers: readonly string[]) =>
  layers.includes("network-namespace") || layers.includes("no-sockets") ? "deny" : "allow";

/** What each of the three says; the path of bwrap counts only where bwrap is taken. */
const kSaid = {
  run(sources: Sources): Policy {
    const { audits } = JSON.parse(cli("run", sources).stdout);
    const [{ runtime, layers, cmd }] = audits;
    return { runtime, network: denies(layers), bwrap: runtime === "bubblewrap" ? cmd : "" };
  },
  explain(sources: Sources): Policy {
    const { runtime, network, layers, cmd } = JSON.parse(cli("explain", sources).stdout);
    expect(denies(layers)).toBe(network);
    return { runtime, network, bwrap: runtime === "bubblewrap" ? cmd : "" };
  },
  doctor(sources: Sources): Policy {
    const { run } = JSON.parse(cli("doctor", sources).stdout);
    const { runtime, network, bwrapPath } = run;
    return { runtime, network, bwrap: runtime === "bubblewrap" ? bwrapPath : "" };
  },
};

const kBubblewrap: Policy = { runtime: "bubblewrap", network: "deny", bwrap: "bwrap" };
const kLandlock: Policy = { runtime: "landlock", network: "deny", bwrap: "" };

function bwrapElsewhere(): string {
  const path = join(tempDirectory(), "another-bwrap");
  symlinkSync("/usr/bin/bwrap", path);
  return path;
}
const kElsewhere = bwrapElsewhere();

const kCases: readonly (readonly [string, Sources, Policy])[] = [
  ["nothing", {}, kBubblewrap],
  [
    "a variable that names the runtime",
    { env: { OPENAGENTIC_RUNTIME_TYPE: "landlock" } },
    kLandlock,
  ],
  [
    "--runtime, against a variable",
    { options: ["--runtime", "landlock"], env: { OPENAGENTIC_RUNTIME_TYPE: "bubblewrap" } },
    kLandlock,
  ],
  [
    "a configuration",
    { config: { runtimeType: "landlock", network: "allow" } },
    { ...kLandlock, network: "allow" },
  ],
  [
    "a configuration that the operator overrides",
    {
      config: { runtimeType: "landlock", network: "allow" },
      env: { OPENAGENTIC_SANDBOX_BACKEND: "bwrap", OPENAGENTIC_SANDBOX_NETWORK: "deny" },
    },
    kBubblewrap,
  ],
  [
    "variables that name the program and allow the network",
    { env: { OPENAGENTIC_BWRAP_PATH: kElsewhere, OPENAGENTIC_SANDBOX_NETWORK: "allow" } },
    { runtime: "bubblewrap", network: "allow", bwrap: kElsewhere },
  ],
];

describeUnless(whyNo("bubblewrap") ?? whyNo("landlock"), "one policy", () => {
  describe.each(kCases)("of %s", (_, sources, expected) => {
    test.each(["run", "explain", "doctor"] as const)("is what %s sees", (name) => {
      expect(kSaid[name](sources)).toEqual(expected);
    });
  });

  test("without the program that the operator names is had by none of them", () => {
    const sources = { env: { OPENAGENTIC_BWRAP_PATH: "/nonexistent/bwrap" } };
    for (const name of ["run", "explain"] as const) {
      const { status, stdout, stderr } = cli(name, sources);
      expect(status, name).toBe(125);
      expect(stderr, name).toContain("/nonexistent/bwrap");
      expect(JSON.parse(stdout), name).toEqual(refusedAs(125, "/nonexistent/bwrap"));
    }
    expect(kSaid.doctor(sources).runtime).toBeNull();
  });

  test.each<[string, Sources]>([
    ["a network that there is not", { env: { OPENAGENTIC_SANDBOX_NETWORK: "maybe" } }],
    ["a runtime that there is not", { env: { OPENAGENTIC_RUNTIME_TYPE: "docker" } }],
    [
      "a sandbox that is required and none",
      { env: { OPENAGENTIC_SANDBOX_REQUIRED: "1", OPENAGENTIC_SANDBOX_BACKEND: "none" } },
    ],
    ["a setting that there is not", { config: { netwrok: "deny" } }],
    [
      "a native runtime where the network is denied",
      { options: ["--runtime", "native"], env: { OPENAGENTIC_SANDBOX_NETWORK: "deny" } },
    ],
  ])("with %s is refused by all in the same words", (_, sources) => {
    const [run, explain, doctor] = (["run", "explain", "doctor"] as const).map((name) => {
      const { status, stderr } = cli(name, sources);
      return { status, stderr: stderr.replace(/\S*runtime\.json/, "FILE") };
    });
    expect(run).toEqual({ status: 2, stderr: expect.stringMatching(/^native-runner: /) });
    expect(explain).toEqual(run);
    expect(doctor).toEqual(run);
  });

  test("of mounts has those of the configuration and the options", () => {
    const [first, second] = [tempDirectory(), tempDirectory()];
    const sources: Sources = {
      config: {
        runtime_type: "bubblewrap",
        bubblewrap: { mounts: [{ host_path: first, guest_path: "/first", mode: "ro" }] },
      },
      options: ["--mount", `${second}:/second:rw`],
    };
    const explained = JSON.parse(cli("explain", sources).stdout);
    const [{ argv, policyHash }] = JSON.parse(cli("run", sources).stdout).audits;
    const wanted = ["--ro-bind", first, "/first", "--bind", second, "/second"];
    expect(argv.join("\0")).toContain(wanted.join("\0"));
    expect(explained.args.join("\0")).toContain(wanted.join("\0"));
    expect(explained.policyHash).toBe(policyHash);
    const { runtime } = kSaid.doctor({ ...sources, options: [] });
    expect(runtime).toBe("bubblewrap");
  });

  test("is not widened by --network allow where the operator denies the network", () => {
    const env = { OPENAGENTIC_SANDBOX_NETWORK: "deny" };
    for (const name of ["run", "explain"] as const) {
      const { status, stdout, stderr } = cli(name, { env, options: ["--network", "allow"] });
      expect(status, name).toBe(2);
      expect(stderr, name).toContain("OPENAGENTIC_SANDBOX_NETWORK=deny");
      expect(JSON.parse(stdout), name).toEqual(refusedAs(2, "OPENAGENTIC_SANDBOX_NETWORK=deny"));
    }
    const open = { options: ["--network", "allow"] };
    expect(kSaid.run(open).network).toBe("allow");
    expect(kSaid.explain(open).network).toBe("allow");
  });
});
