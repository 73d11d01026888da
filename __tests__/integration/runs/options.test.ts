/** Promise 8: options are read and copied once; the classes can be used and extended as of old. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";

import { bindsWith } from "../promises/probed-host.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  LocalNativeRunner,
  type NativeExecInput,
  type NativeRunner,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { bytes, run, text } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

describeSandboxed("8: options are copied once", () => {
  test("those of a runner", async () => {
    const shadowDir = tempDirectory();
    const shared = tempDirectory();
    const roBinds = bindsWith(shared);
    const envPolicy = ["PATH"];
    vi.stubEnv("LATER", "is on the host");
    onTestFinished(() => void vi.unstubAllEnvs());
    const options: BubblewrapNativeRunnerOptions = {
      shadowDir,
      roBinds,
      envPolicy,
      network: "deny",
    };
    const runner = new BubblewrapNativeRunner(options);
    const before = await runner.explain({ argv: ["true"] });
    roBinds.length = 0;
    roBinds.push("/no/such");
    envPolicy.push("LATER");
    Object.assign(options, { shadowDir: "/no/such", network: "allow", bwrapPath: "/no/such" });
    expect(await runner.explain({ argv: ["true"] })).toEqual(before);
    expect(await run(runner, `ls -d ${shared}; env | cut -d= -f1 | grep -c LATER`)).toMatchObject({
      out: `${shared}\n0`,
    });
  });

  test("a runner's arrays can't be changed", () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: "/x", roBinds: ["/usr"] });
    expect(() => (runner.roBinds as string[]).push("/root")).toThrow(TypeError);
    const usual = new BubblewrapNativeRunner({ shadowDir: "/x" });
    expect(() => (usual.roBinds as string[]).push("/root")).toThrow(TypeError);
  });

  for (const [label, makeRunner] of kRunners) {
    test(`those of a call, ${label}`, async () => {
      const input = {
        argv: ["sh", "-c", 'sleep 0.1; cat; echo "$A $1"', "sh", "as given"],
        env: { A: "given" },
        stdin: bytes("in\n"),
        limits: { maxStdoutBytes: 100, timeoutMs: 20_000 },
      };
      const running = run(makeRunner(tempDirectory()), input.argv, input);
      input.argv[4] = "changed";
      input.argv.push("more");
      input.env.A = "changed";
      input.stdin.fill(0);
      Object.assign(input.limits, { maxStdoutBytes: 1, timeoutMs: 1 });
      expect(await running).toMatchObject({ out: "in\ngiven as given", kind: "exited" });
    });
  }

  test("inherited fields and symbols are no variables", async () => {
    const env = Object.create({ INHERITED: "x" }, { HIDDEN: { value: "x", enumerable: false } });
    env.OWN = "x";
    env[Symbol("s")] = "x";
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory(), envPolicy: "clean" });
    const seen = await run(runner, ["env"], { env });
    expect(seen.out.split("\n").sort()).toEqual(["OWN=x", expect.stringMatching(/^PATH=/)]);
  });

  test("undefined is as good as left out", async () => {
    const shadowDir = tempDirectory();
    const none = {
      bwrapPath: undefined,
      network: undefined,
      roBinds: undefined,
      envPolicy: undefined,
    };
    const runner = new BubblewrapNativeRunner({
      shadowDir,
      ...none,
      isolation: undefined,
      maxConcurrent: undefined,
    });
    const limits = {
      maxStdoutBytes: undefined,
      timeoutMs: undefined,
      keep: undefined,
      memoryBytes: undefined,
    };
    const input = {
      cwd: undefined,
      env: undefined,
      stdin: undefined,
      signal: undefined,
      onStdout: undefined,
    };
    expect(await run(runner, ["echo", "x"], { ...input, limits })).toMatchObject({
      out: "x",
      exitCode: 0,
    });
  });
});

describeSandboxed("the public face", () => {
  test("fields and defaults", () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: "/not/there/yet" });
    expect({ ...runner }).toMatchObject({
      bwrapPath: "bwrap",
      shadowDir: "/not/there/yet",
      roBinds: ["/usr", "/bin", "/lib", "/lib64", "/etc"],
      network: "deny",
    });
  });

  test("classes can be extended", async () => {
    class Counting extends BubblewrapNativeRunner {
      count = 0;
      override exec(input: NativeExecInput) {
        this.count += 1;
        return super.exec({ ...input, env: { ...input.env, COUNT: String(this.count) } });
      }
    }
    class Named extends LocalNativeRunner {
      readonly name: string;
      constructor(name: string, shadowDir: string) {
        super({ shadowDir });
        this.name = name;
      }
    }
    const counting = new Counting({ shadowDir: tempDirectory() });
    await run(counting, ["true"]);
    expect((await run(counting, 'echo "$COUNT"')).out).toBe("2");
    expect(counting).toBeInstanceOf(BubblewrapNativeRunner);
    const named = new Named("mine", tempDirectory());
    expect([named.name, (await run(named, ["echo", "x"])).out]).toEqual(["mine", "x"]);
  });

  test("exec may be taken off its runner", async () => {
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory() });
    const exec: NativeRunner["exec"] = (input) => runner.exec(input);
    expect(text((await exec({ argv: ["echo", "x"] })).stdout)).toBe("x\n");
  });

  test("a consumer that knows the old shapes alone", async () => {
    type OldResult = {
      exitCode: number;
      stdout: Uint8Array;
      stderr: Uint8Array;
      truncatedStdout: boolean;
      truncatedStderr: boolean;
      audits?: {
        kind: "native.exec";
        cmd: string;
        argv: string[];
        timedOut: boolean;
        signal?: string | null;
      }[];
    };
    type OldInput = {
      argv: string[];
      cwd?: string;
      env?: Record<string, string>;
      limits?: { timeoutMs?: number };
    };
    type OldRunner = { exec(input: OldInput): Promise<OldResult> };
    const summary = async (runner: OldRunner) => {
      const { exitCode, stdout, audits } = await runner.exec({ argv: ["echo", "x"], cwd: "." });
      return [exitCode, new TextDecoder().decode(stdout), audits?.[0]?.kind, audits?.[0]?.timedOut];
    };
    const shadowDir = tempDirectory();
    for (const runner of [
      new BubblewrapNativeRunner({ shadowDir }),
      new LocalNativeRunner({ shadowDir }),
    ]) {
      expect(await summary(runner)).toEqual([0, "x\n", "native.exec", false]);
    }
    const own: NativeRunner = {
      exec: async () => ({
        exitCode: 0,
        stdout: bytes("own"),
        stderr: bytes(""),
        truncatedStdout: false,
        truncatedStderr: false,
      }),
    };
    expect((await run(own, ["x"])).out).toBe("own");
  });

  test("runs take their turns, first in, first out", async () => {
    const shadowDir = tempDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir, maxConcurrent: 2 });
    const script =
      'echo "$1" >> order; ls running.* 2> /dev/null | wc -l; : > running.$1; sleep 0.05; rm running.$1';
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, i) => run(runner, ["sh", "-c", script, "sh", String(i)])),
    );
    for (const seen of runs) expect(Number(seen.out)).toBeLessThan(2);
    const order = (await run(runner, ["cat", "order"])).out.split("\n").map(Number);
    for (const [place, number] of order.entries()) expect(Math.abs(place - number)).toBeLessThan(2);
    expect(existsSync(join(shadowDir, "order"))).toBe(true);
  });
});
