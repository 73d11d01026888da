/** Live processes with a terminal, made inside the sandbox. */

import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { kLiveRunners, Screen, spawn, whole } from "../support/live-processes.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { BubblewrapNativeRunner, type NativeSpawnInput } from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeUnless, testUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const pty = { cols: 91, rows: 23 };
const kBash = existsSync("/bin/bash") ? undefined : "there is no /bin/bash";
const kNode = /^\/(usr|bin)\//.test(kNodeProgram)
  ? undefined
  : `node is not below /usr: ${kNodeProgram}`;

/** An interactive bash that echoes nothing of its own, with a prompt of our own. */
const bash: NativeSpawnInput = {
  argv: ["bash", "--norc", "--noprofile", "--noediting", "-i"],
  env: { PS1: "ready> ", HISTFILE: "" },
  pty,
};

for (const [name, reason, makeRunner] of kLiveRunners) {
  describeUnless(reason, `a terminal, ${name}`, () => {
    test("is what the command has as 0, 1 and 2, and as its own", async () => {
      const script =
        "for n in 0 1 2; do test -t $n && echo is $n; done; tty; stty size; echo $TERM; " +
        "echo x > /dev/tty && echo opened; for n in 3 4 5 6 7 8 9; do (true >&$n) 2> /dev/null && echo is $n; done; exit 0";
      const process = await spawn(makeRunner(tempDirectory()), script, { pty });
      expect(process.stderr).toBeNull();
      const [out, result] = await Promise.all([whole(process.stdout), process.result]);
      expect(out).toMatch(
        /^is 0\r\nis 1\r\nis 2\r\n\/dev\/pts\/\d+\r\n23 91\r\nxterm-256color\r\nx\r\nopened\r\n$/,
      );
      expect(result).toMatchObject({ exitCode: 0, stdoutBytes: out.length, stderrBytes: 0 });
    });

    const elsewhere = name === "remote" ? "its host is the worker" : undefined;
    testUnless(elsewhere, `TERM is env's, else pty.term's, never the host's, ${name}`, async () => {
      const runner = makeRunner(tempDirectory());
      const seen = async (input: Partial<NativeSpawnInput>) =>
        (await whole((await spawn(runner, "echo $TERM", input)).stdout)).trim();
      expect(await seen({ pty: { ...pty, term: "vt100" } })).toBe("vt100");
      expect(await seen({ pty: { ...pty, term: "vt100" }, env: { TERM: "dumb" } })).toBe("dumb");
      const before = process.env.TERM;
      process.env.TERM = "of-the-host";
      try {
        expect(await seen({ pty })).toBe("xterm-256color");
        expect(await seen({})).toBe("of-the-host");
      } finally {
        if (before === undefined) delete process.env.TERM;
        else process.env.TERM = before;
      }
    });

    testUnless(kBash, "bash: echo, resize, ^C, job control, ^D", async () => {
      const process = await makeRunner(tempDirectory()).spawn(bash);
      const screen = new Screen(process.stdout);
      await screen.until("ready> ");
      process.stdin.write("stty size\n");
      expect(await screen.until("ready> ")).toBe("stty size\r\n23 91\r\nready> ");

      process.stdin.write("trap 'echo changed $(stty size)' WINCH\n");
      await screen.until("ready> ");
      process.resize({ cols: 120, rows: 50 });
      process.stdin.write("\n");
      await screen.until("changed 50 120");

      // It is in the foreground once it speaks; before, the shell itself might get the ^C.
      process.stdin.write("sh -c 'echo go''ing; exec sleep 1000'\n");
      await screen.until("going\r\n");
      process.stdin.write("\x03");
      await screen.until("^C\r\nready> ");
      process.stdin.write("echo $?\n");
      await screen.until("130\r\nready> ");

      process.stdin.write("sh -c 'echo go''ing; exec sleep 0.5'\n");
      await screen.until("going\r\n");
      process.stdin.write("\x1a");
      await screen.until(/Stopped.*\r\nready> /);
      process.stdin.write("fg; echo ended with $?\n");
      await screen.until("ended with 0\r\nready> ");
      process.stdin.write("sleep 1000 | sleep 1000 &\n");
      await screen.until(/\[1\] \d+\r\nready> /);
      process.stdin.write("kill %1; wait; jobs; echo none'' left\n");
      await screen.until("none left\r\nready> ");
      process.stdin.write("\x04");
      expect(await process.result).toMatchObject({ exitCode: 0, outcome: { kind: "exited" } });
    });

    testUnless(kNode, "node: a REPL", async () => {
      const env = { NODE_DISABLE_COLORS: "1", NODE_REPL_HISTORY: "" };
      const argv = [kNodeProgram, "-i"];
      const process = await spawn(makeRunner(tempDirectory()), argv, { pty, env });
      const screen = new Screen(process.stdout);
      await screen.until("> ");
      process.stdin.write("[6 * 7, process.stdout.columns, process.stdin.isTTY].join()\r");
      await screen.until("'42,91,true'");
      process.stdin.write("process.exit(5)\r");
      expect((await process.result).exitCode).toBe(5);
    });

    test("delivers what was written right before the end, read or not", async () => {
      for (let turn = 0; turn < 10; turn += 1) {
        const process = await spawn(makeRunner(tempDirectory()), "seq 1 400", { pty });
        const result = await process.result;
        const out = await whole(process.stdout);
        expect(out.split("\r\n").slice(0, 400).map(Number)).toEqual(
          Array.from({ length: 400 }, (_, i) => i + 1),
        );
        expect(result.stdoutBytes).toBe(out.length);
      }
    });

    test("a flood through it is whole, and held up while nobody reads", async () => {
      const process = await spawn(makeRunner(tempDirectory()), "seq 1 200000", { pty });
      const out = await whole(process.stdout);
      expect(out.length).toBe(1_288_895 + 200_000 - 1 + 1);
      const endless = await spawn(makeRunner(tempDirectory()), ["yes"], { pty });
      await endless.stop();
      expect((await whole(endless.stdout)).length).toBe((await endless.result).stdoutBytes);
    });

    test("takes input in any size", async () => {
      const process = await spawn(
        makeRunner(tempDirectory()),
        "stty -icanon -echo; echo up; wc -c",
        {
          pty,
        },
      );
      const screen = new Screen(process.stdout);
      await screen.until("up\r\n");
      process.stdin.write("x".repeat(300_000));
      process.stdin.write("\n");
      await new Promise((resolve) => process.stdin.write("y\n", resolve));
      process.stdin.end(); // no end of file
      process.signal("SIGINT");
      expect((await process.result).outcome).toEqual({ kind: "signaled", signal: "SIGINT" });
    });

    test("a start that fails says so on it", async () => {
      const runner = makeRunner(tempDirectory());
      const missing = await spawn(runner, ["no-such-command"], { pty });
      expect(await whole(missing.stdout)).toBe("no-such-command: command not found\r\n");
      expect((await missing.result).outcome.kind).toBe("not-found");
      const nowhere = await spawn(runner, "true", { pty, cwd: "missing" });
      const { outcome } = await nowhere.result;
      expect(outcome.kind).toBe("setup-failed");
      expect(await whole(nowhere.stdout)).toContain("missing");
    });

    test("its hang-up ends what it has, and nothing outlives it", async () => {
      const process = await spawn(makeRunner(tempDirectory()), "trap '' HUP; echo up; sleep 1000", {
        pty,
      });
      await new Screen(process.stdout).until("up");
      expect((await process.stop()).outcome.kind).toBe("aborted");
    });
  });
}

describe("a terminal of a sandbox", () => {
  for (const [name, reason, makeRunner] of kLiveRunners) {
    testUnless(reason, `can't be typed into by the command (TIOCSTI), ${name}`, async () => {
      const workspace = tempDirectory();
      const program = buildProbe(workspace);
      const runner = makeRunner(workspace);
      const argv =
        name === "bubblewrap" || name === "remote" ? ["./probe", "type"] : [program, "type"];
      const process = await spawn(runner, argv, { pty });
      const said = (await whole(process.stdout)).replace(/^x/, "").trim();
      if (name === "local")
        expect(["OK", "EIO"]).toContain(said); // EIO: dev.tty.legacy_tiocsti
      else expect(said).toBe("EPERM");
    });
  }

  describeUnless(whyNo("bubblewrap"), "without /dev", () => {
    test("can't be had, and says why", async () => {
      const make = (devBind: boolean) =>
        new BubblewrapNativeRunner({ shadowDir: tempDirectory(), devBind, prewarm: 0 });
      const process = await spawn(make(false), "echo ran", { pty });
      const { outcome } = await process.result;
      expect(outcome).toMatchObject({
        kind: "setup-failed",
        reason: expect.stringContaining("/dev/ptmx"),
        fix: expect.stringContaining("devBind"),
      });
      expect(await whole(process.stdout)).toContain("/dev/ptmx");
      expect(await whole((await spawn(make(true), "echo ran", { pty })).stdout)).toBe("ran\r\n");
      expect(await whole((await spawn(make(false), "echo ran")).stdout)).toBe("ran\n");
    });
  });
});
