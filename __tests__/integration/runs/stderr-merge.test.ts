/** `stderr: "merge"`: both streams in the order in which they were written, in every kind of run. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kLiveRunners, whole } from "../support/live-processes.js";
import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  type NativeExecInput,
  type SandboxedExecResult,
} from "../support/package.js";
import {
  describeSandboxed,
  describeUnless,
  testUnless,
  whyNoBindFd,
} from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kTurns = 40;
const kScript = `for i in $(seq ${kTurns}); do echo out $i; echo err $i >&2; done`;
const kLines = Array.from({ length: kTurns }, (_, index) => index + 1);
const kMerged = kLines.map((turn) => `out ${turn}\nerr ${turn}\n`).join("");
const sh = (script: string): NativeExecInput => ({ argv: ["sh", "-c", script], stderr: "merge" });

type Runs = { exec(input: NativeExecInput): Promise<SandboxedExecResult> };

async function expectMerged(runner: Runs): Promise<void> {
  const merged = await runner.exec(sh(kScript));
  expect(merged).toMatchObject({ exitCode: 0, stderrBytes: 0, truncatedStderr: false });
  expect(merged.stdoutText).toBe(kMerged);
  expect(merged.stderrText).toBe("");
  expect(merged.stdoutBytes).toBe(kMerged.length);
  // The control: apart they are apart.
  const apart = await runner.exec({ argv: ["sh", "-c", kScript], stderr: "separate" });
  expect(apart.stdoutText).toBe(kLines.map((turn) => `out ${turn}\n`).join(""));
  expect(apart.stderrText).toBe(kLines.map((turn) => `err ${turn}\n`).join(""));
}

for (const [label, reason, makeRunner] of kLiveRunners) {
  describeUnless(reason, `stderr merged, ${label}`, () => {
    test("exec", () => expectMerged(makeRunner(tempDirectory())));

    test("spawn", async () => {
      const runner = makeRunner(tempDirectory());
      const argv = ["sh", "-c", `read line; echo got $line; ${kScript}`];
      await using process = await runner.spawn({ argv, stderr: "merge" });
      expect(process.stderr).toBeNull();
      process.stdin.end("it\n");
      expect(await whole(process.stdout)).toBe(`got it\n${kMerged}`);
      expect(await process.result).toMatchObject({ exitCode: 0, stderrBytes: 0 });
      const apart = await runner.spawn({ argv: ["sh", "-c", "echo x >&2"], stderr: "separate" });
      apart.stdout.resume();
      expect(await whole(apart.stderr ?? apart.stdout)).toBe("x\n");
    });

    test("what is said of a command that can't be started", async () => {
      const runner = makeRunner(tempDirectory());
      const missing = await runner.exec({ argv: ["no-such-command"], stderr: "merge" });
      expect(missing).toMatchObject({ exitCode: 127, outcome: { kind: "not-found" } });
      expect(missing.stdoutText).toBe("no-such-command: command not found\n");
      expect(missing.stderrText).toBe("");
    });

    test("the limits and the callback of stdout apply", async () => {
      const chunks: Uint8Array[] = [];
      const errors: Uint8Array[] = [];
      const cut = await makeRunner(tempDirectory()).exec({
        ...sh("printf 12345; printf 67890 >&2; printf abcde"),
        limits: { maxStdoutBytes: 12, maxStderrBytes: 1 },
        onStdout: (chunk) => chunks.push(chunk),
        onStderr: (chunk) => errors.push(chunk),
      });
      expect(cut).toMatchObject({ truncatedStdout: true, truncatedStderr: false, stdoutBytes: 15 });
      expect(cut.stdoutText).toBe("1234567890ab");
      expect(Buffer.concat(chunks).toString()).toBe("1234567890ab");
      expect(errors).toEqual([]);
    });

    test("a directory that is missing is told in stdout", async () => {
      const failed = await makeRunner(tempDirectory()).exec({ ...sh("true"), cwd: "missing" });
      expect(failed.outcome.kind).toBe("setup-failed");
      expect(failed.stdoutText).toContain("missing");
      expect(failed).toMatchObject({ stderrBytes: 0, stderrText: "" });
    });
  });
}

describeSandboxed("stderr merged, Bubblewrap", () => {
  testUnless(whyNoBindFd, "in a sandbox that was made before", async () => {
    await using runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 1 });
    expect(await runner.warm()).toBe(1);
    await expectMerged(runner);
    expect(runner.pool().taken).toBeGreaterThan(0);
  });

  test("what bwrap itself says is in stdout", async () => {
    const runner = new BubblewrapNativeRunner({
      shadowDir: tempDirectory(),
      extraArgs: ["--ro-bind", "/no/such/path", "/x"],
    });
    const failed = await runner.exec(sh("true"));
    expect(failed.outcome.kind).toBe("setup-failed");
    expect(failed.stdoutText).toContain("/no/such/path");
    expect(failed.stderrText).toBe("");
    const apart = await runner.exec({ argv: ["true"] });
    expect(apart.stderrText).toContain("/no/such/path");
  });

  test("with a terminal there is one stream anyway", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const pty = { cols: 80, rows: 24 };
    const wrong = runner.spawn({ argv: ["true"], pty, stderr: "merge" });
    await expect(wrong).rejects.toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
    await (await runner.spawn({ argv: ["true"], pty })).stop();
  });
});

const kSessionRunners = [
  ["bubblewrap", (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir })],
  ["landlock", (shadowDir: string) => new LandlockNativeRunner({ shadowDir })],
] as const;

for (const [label, makeRunner] of kSessionRunners) {
  describeUnless(whyNo(label), `stderr merged, session of ${label}`, () => {
    test("exec and start", async () => {
      await using session = await makeRunner(tempDirectory()).openSession();
      await expectMerged(session);
      await using process = await session.start({ ...sh(kScript) });
      expect(process.stderr).toBeNull();
      expect(await whole(process.stdout)).toBe(kMerged);
    });

    test("a shell keeps its state", async () => {
      const shadowDir = tempDirectory();
      await using session = await makeRunner(shadowDir).openSession({ shell: true });
      const set = await session.exec({
        argv: ["bash", "-c", "mkdir d; cd d; A=1; echo e >&2"],
        stderr: "merge",
      });
      expect(set.stdoutText).toBe("e\n");
      const kept = await session.exec({
        argv: ["bash", "-c", "touch $A; echo $A >&2"],
        stderr: "merge",
      });
      expect(kept.stdoutText).toBe("1\n");
      expect(existsSync(join(shadowDir, "d/1"))).toBe(true);
    });
  });
}
