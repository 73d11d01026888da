/** Hosts on which bwrap is there and does not work: what is taken in its place, and what helps. */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { brokenPath, command, kCli, kMain, whyNoCli } from "../support/built-cli.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { describeRuntime } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

function configFile(config: object): string {
  const path = join(tempDirectory(), "runtime.json");
  writeFileSync(path, JSON.stringify(config));
  return path;
}

test("the command line is built", () => expect(whyNoCli).toBeUndefined());

describeRuntime("landlock", () => {
  test("a stub on PATH that fails: auto gives a Landlock run, which its record proves", () => {
    const args = ["run", "--runtime", "auto", "--json", "--", "echo", "ran"];
    const { status, stdout } = command([...kCli, ...args], {
      PATH: brokenPath(),
      OPENAGENTIC_SANDBOX_REQUIRED: "1",
    });
    expect(status).toBe(0);
    const result = JSON.parse(stdout);
    expect(result.stdout).toBe("ran\n");
    expect(result.audits[0]).toMatchObject({ runtime: "landlock", outcome: "exited" });
    expect(result.audits[0].layers).toEqual(expect.arrayContaining(["landlock-fs", "no-sockets"]));
  });
});

describe("where nothing works", () => {
  const nothing = () => ({
    landlock: { fsReadDirs: ["/not/there"] },
    firejail: { firejailPath: "/not/there/firejail" },
    allowFallbackToNative: true,
  });
  const doctor = (env: NodeJS.ProcessEnv) =>
    command([...kCli, "doctor", "--config", configFile(nothing())], { PATH: brokenPath(), ...env });

  test("the doctor says that nothing will run when a sandbox is required", () => {
    const { status, stdout } = doctor({ OPENAGENTIC_SANDBOX_REQUIRED: "1" });
    expect(status).toBe(1);
    const last = stdout.trimEnd().split("\n").at(-1);
    expect(last).toBe("no sandbox works here, and one is required: nothing will run");
  });

  test("and what would run when none is", () => {
    const { status, stdout } = doctor({ OPENAGENTIC_SANDBOX_REQUIRED: "" });
    expect(status).toBe(1);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("auto runs commands WITHOUT a sandbox");
  });

  test("a required layer that none has is an error, and no run", () => {
    const made = join(tempDirectory(), "made");
    const program = `
      import { createRuntime } from ${JSON.stringify(join(kMain, "../../index.js"))};
      try {
        const runtime = await createRuntime({ required: ["no-such-layer"], allowFallbackToNative: true });
        await runtime.execute("echo x > ${made}");
      } catch (error) {
        console.log(error.code, error.steps.map(({ name }) => name).join());
      }`;
    const { stdout } = command([kNodeProgram, "--input-type=module", "-e", program]);
    expect(stdout).toBe("ERR_SANDBOX_UNAVAILABLE bubblewrap,landlock,firejail\n");
    expect(existsSync(made)).toBe(false);
  });
});
