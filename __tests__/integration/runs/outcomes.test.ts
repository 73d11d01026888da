// As root too: limits, ids and set-up differ for root.
/** Each outcome of the contract, with its exit code, signal and words; the same in every runner. */

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kBegunMs } from "../../support/waits.js";

import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const kSignals = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGABRT",
  "SIGKILL",
  "SIGSEGV",
  "SIGPIPE",
  "SIGTERM",
  "SIGUSR1",
  "SIGSYS",
] as const;

function executable(directory: string, name: string, text: string, mode = 0o755): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return name;
}

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`outcomes, ${label}`, () => {
    test.each([0, 1, 2, 42, 124, 125, 126, 127, 128, 130, 137, 255])(
      "exited with %i",
      async (code) => {
        const seen = await run(makeRunner(tempDirectory()), `exit ${code}`);
        expect(seen.exitCode).toBe(code);
        expect(seen.result.outcome).toEqual({ kind: "exited" });
        expect(seen.result.audits).toHaveLength(1);
        expect(seen.result.audits[0]).toMatchObject({
          outcome: "exited",
          timedOut: false,
          signal: null,
        });
      },
    );

    test.each(kSignals)("signaled by %s", async (signal) => {
      const number = constants.signals[signal];
      const seen = await run(
        makeRunner(tempDirectory()),
        `ulimit -c 0; kill -${number} $$; sleep 10`,
      );
      expect(seen.exitCode).toBe(128 + number);
      expect(seen.result.outcome).toEqual({ kind: "signaled", signal });
      expect(seen.result.audits[0]).toMatchObject({ outcome: "signaled", timedOut: false, signal });
    });

    test("timed-out keeps what was written", async () => {
      const seen = await run(makeRunner(tempDirectory()), "echo out; echo err >&2; sleep 1000", {
        limits: { timeoutMs: kBegunMs },
      });
      expect(seen).toMatchObject({ exitCode: 124, out: "out", err: "err" });
      expect(seen.result.outcome).toEqual({ kind: "timed-out" });
      expect(seen.result.audits[0]).toMatchObject({
        outcome: "timed-out",
        timedOut: true,
        signal: "SIGKILL",
      });
    });

    test("aborted", async () => {
      const controller = new AbortController();
      const seen = await run(makeRunner(tempDirectory()), "echo out; sleep 1000", {
        signal: controller.signal,
        onStdout: () => controller.abort(),
      });
      expect(seen).toMatchObject({ exitCode: 130, out: "out" });
      expect(seen.result.outcome).toEqual({ kind: "aborted" });
      expect(seen.result.audits[0]).toMatchObject({ outcome: "aborted", timedOut: false });
    });

    test.each(["native-runner-no-such", "./no-such", "/no/such/program", "a/b/c", "no such"])(
      "not-found: %s",
      async (command) => {
        const seen = await run(makeRunner(tempDirectory()), [command, "argument"]);
        expect(seen).toMatchObject({
          exitCode: 127,
          out: "",
          err: `${command}: command not found`,
        });
        expect(seen.result.outcome).toEqual({ kind: "not-found" });
        expect(seen.result.audits[0]).toMatchObject({ outcome: "not-found", signal: null });
      },
    );

    test("not-found on a PATH without it", async () => {
      const seen = await run(makeRunner(tempDirectory()), ["ls"], { env: { PATH: "/no/such:" } });
      expect(seen).toMatchObject({ exitCode: 127, err: "ls: command not found" });
    });

    test.each([
      ["a file without the permission", "./plain", "Permission denied"],
      ["a directory", "./directory", "Permission denied"],
      ["a script whose interpreter is missing", "./script", "No such file or directory"],
      ["a path through a file", "./plain/x", "Not a directory"],
      ["a link that leads to itself", "./loop", "Too many levels of symbolic links"],
    ])("not-executable: %s", async (_, command, reason) => {
      const workspace = tempDirectory();
      executable(workspace, "plain", "#!/bin/sh\n", 0o644);
      mkdirSync(join(workspace, "directory"));
      executable(workspace, "script", "#!/no/such/interpreter\n");
      await run(makeRunner(workspace), "ln -s loop loop");
      const seen = await run(makeRunner(workspace), [command]);
      expect(seen).toMatchObject({ exitCode: 126, out: "", err: `${command}: ${reason}` });
      expect(seen.result.outcome).toEqual({ kind: "not-executable" });
      expect(seen.result.audits[0]).toMatchObject({ outcome: "not-executable", signal: null });
    });

    test("a script without #! is run by the shell, as execvp does", async () => {
      const workspace = tempDirectory();
      executable(workspace, "script", 'echo "$0 $1"\n');
      const seen = await run(makeRunner(workspace), ["./script", "argument"]);
      expect(seen).toMatchObject({ exitCode: 0, out: "./script argument" });
    });

    test("setup-failed: a workspace that does not exist", async () => {
      const missing = join(tempDirectory(), "missing");
      const seen = await run(makeRunner(missing), ["true"]);
      expect(seen).toMatchObject({ exitCode: 125, kind: "setup-failed", out: "" });
      const { outcome, audits } = seen.result;
      expect(outcome).toMatchObject({ reason: expect.stringContaining(missing) });
      const option = label === "remote" ? "workspace" : "shadowDir";
      expect(outcome).toMatchObject({ reason: expect.stringContaining(option) });
      expect(seen.err).toContain(outcome.kind === "setup-failed" ? outcome.reason : "");
      expect(audits[0]).toMatchObject({ outcome: "setup-failed", signal: null });
    });

    test("limit-exceeded: CPU time", async () => {
      const seen = await run(makeRunner(tempDirectory()), "while :; do :; done", {
        limits: { cpuSeconds: 1 },
      });
      expect(seen.exitCode).toBe(128 + constants.signals.SIGXCPU);
      expect(seen.result.outcome).toEqual({ kind: "limit-exceeded", limit: "cpuSeconds" });
      expect(seen.result.audits[0]).toMatchObject({ outcome: "limit-exceeded", signal: "SIGXCPU" });
    });

    test("the first cause wins where an exit races the deadline", async () => {
      const runner = makeRunner(tempDirectory());
      const runs = Array.from({ length: 24 }, (_, i) =>
        run(runner, "sleep 0.1; exit 7", { limits: { timeoutMs: 96 + i * 2 } }),
      );
      for (const { result } of await Promise.all(runs)) {
        const [audit] = result.audits;
        const ended = [
          result.exitCode,
          result.outcome.kind,
          audit?.outcome,
          audit?.timedOut,
          audit?.signal,
        ];
        expect([
          [7, "exited", "exited", false, null],
          [124, "timed-out", "timed-out", true, "SIGKILL"],
        ]).toContainEqual(ended);
      }
    });
  });
}
