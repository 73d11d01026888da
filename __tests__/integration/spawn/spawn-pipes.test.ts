/** Live processes over pipes: streams with backpressure, signals, outcomes as exec's. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";

import { eventually, kBegunMs, kQuietMs } from "../../support/waits.js";
import { kLiveRunners, Screen, spawn, whole } from "../support/live-processes.js";
import {
  BubblewrapNativeRunner,
  LocalNativeRunner,
  type NativeExecInput,
  type NativeSpawnInput,
  type SandboxedExecResult,
} from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeUnless, testUnless, whyNoBubblewrap } from "../support/requirements.js";
import { text, withoutHomeId } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

const kBig = Buffer.alloc(16 << 20, "0123456789abcdefghijklmnopqrstu\n");
const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A result without what is measured, and without what exec keeps of the output. */
function comparable({ usage, stdout, stderr, audits, ...rest }: SandboxedExecResult): unknown {
  const records = audits.map(({ durationMs, usage: used, timing, ...record }) => {
    expect(durationMs).toBeGreaterThan(0);
    expect(used).toEqual(usage);
    return { ...record, parts: Object.values(timing).map((part) => part > 0) };
  });
  return { ...rest, audits: records };
}

const sh = (script: string) => ({ argv: ["sh", "-c", script] });
const kEnds: [string, NativeExecInput & NativeSpawnInput][] = [
  ["an exit code", sh("echo out; echo err >&2; exit 7")],
  ["a signal", sh("echo out; kill -SEGV $$")],
  ["a command that is missing", { argv: ["no-such-command"] }],
  ["a command that can't be run", { argv: ["/etc"] }],
  ["a directory that is missing", { ...sh("pwd"), cwd: "missing" }],
  ["a deadline", { ...sh("echo before; sleep 1000"), limits: { timeoutMs: kBegunMs } }],
  ["a limit of a file's size", { ...sh("yes > file"), limits: { maxFileBytes: 5000 } }],
  ["what is left behind", sh("(setsid sleep 1000 &) & sleep 1000 & exit 4")],
];

for (const [name, reason, makeRunner] of kLiveRunners) {
  describeUnless(reason, `spawn, ${name}`, () => {
    /** Bytes; those to and from another machine have a mebibyte on their way. */
    const mostUnread = name === "remote" ? 2 << 20 : 1 << 20;

    test("a conversation: input and output while it runs", async () => {
      const process = await spawn(
        makeRunner(tempDirectory()),
        'while read -r line; do echo "got $line"; done; echo end >&2',
      );
      const out = new Screen(process.stdout);
      for (const word of ["one", "two"]) {
        process.stdin.write(`${word}\n`);
        await out.until(`got ${word}\n`);
      }
      process.stdin.end("three\n");
      expect(process.stderr).not.toBeNull();
      if (process.stderr) expect(await whole(process.stderr)).toBe("end\n");
      const result = await process.result;
      expect(out.text).toBe("got one\ngot two\ngot three\n");
      expect(result).toMatchObject({ exitCode: 0, stdoutBytes: 26, stderrBytes: 4 });
      expect(result.stdout.length + result.stderr.length).toBe(0);
      expect(result.truncatedStdout || result.truncatedStderr).toBe(false);
    });

    test("16 MiB through cat", async () => {
      const process = await spawn(makeRunner(tempDirectory()), ["cat"]);
      const sum = createHash("sha256");
      await Promise.all([
        pipeline(Readable.from(chunksOf(kBig)), process.stdin),
        (async () => {
          for await (const chunk of process.stdout) sum.update(chunk);
        })(),
      ]);
      expect(sum.digest("hex")).toBe(hash(kBig));
      expect(await process.result).toMatchObject({ exitCode: 0, stdoutBytes: kBig.length });
    });

    test("input waits for a command that does not read", async () => {
      const process = await spawn(makeRunner(tempDirectory()), "sleep 1000");
      let accepted = 0;
      for (const chunk of chunksOf(kBig)) {
        if (!process.stdin.write(chunk)) break;
        accepted += chunk.length;
      }
      const drained = once(process.stdin, "drain").then(() => "drained");
      process.stdin.write(kBig);
      expect(await Promise.race([drained, delay(kQuietMs, "waiting")])).toBe("waiting");
      expect(accepted).toBeLessThan(mostUnread);
      await process.stop();
      await expect(drained).rejects.toMatchObject({ code: "EPIPE" });
    });

    test("a flood that nobody reads holds the command up, in bounded memory", async () => {
      const workspace = tempDirectory();
      const before = globalThis.process.memoryUsage.rss();
      const process = await spawn(makeRunner(workspace), "yes; echo $? > ended");
      await eventually("the buffers are full", () => process.stdout.readableLength >= 64 * 1024);
      await delay(kQuietMs);
      expect(process.stdout.readableLength).toBeLessThan(mostUnread);
      expect(globalThis.process.memoryUsage.rss() - before).toBeLessThan(64 << 20);
      const result = await process.stop();
      expect(result.outcome.kind).toBe("aborted");
      // And what its pipe held is not lost.
      expect((await whole(process.stdout)).length).toBe(result.stdoutBytes);
      expect(result.stdoutBytes).toBeLessThan(4 << 20);
    });

    test("its end does not wait for a reader", async () => {
      const process = await spawn(makeRunner(tempDirectory()), "head -c 300000 /dev/zero; exit 6");
      expect(await process.result).toMatchObject({ exitCode: 6, stdoutBytes: 300_000 });
      expect((await whole(process.stdout)).length).toBe(300_000);
    });

    test("output that is destroyed ends who writes on", async () => {
      const process = await spawn(makeRunner(tempDirectory()), ["yes"]);
      for await (const chunk of process.stdout) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
      expect(process.stdout.destroyed).toBe(true);
      expect(await process.result).toMatchObject({
        outcome: { kind: "signaled", signal: "SIGPIPE" },
      });
    });

    test("input that the command closed is EPIPE, and no uncaught exception", async () => {
      const process = await spawn(makeRunner(tempDirectory()), "exec <&-; echo closed; sleep 1000");
      await new Screen(process.stdout).until("closed");
      const closed = new Promise((resolve) => process.stdin.once("close", resolve));
      // The launcher lets go of its own descriptor once the command runs, a moment later perhaps.
      let heard: unknown;
      process.stdin.on("error", (error) => {
        heard = error;
      });
      for (let tries = 0; tries < 1000 && heard === undefined; tries += 1) {
        process.stdin.write("x");
        await delay(10);
      }
      expect(heard).toMatchObject({ code: "EPIPE" });
      await closed;
      await process.stop();
    });

    test("a signal reaches the whole group, and can be caught", async () => {
      const script =
        "trap 'echo outer; wait; exit 9' TERM; " +
        "sh -c 'trap \"echo inner\" TERM; echo up; while :; do sleep 0.05; done' & " +
        "while :; do sleep 0.05; done";
      const process = await spawn(makeRunner(tempDirectory()), script);
      const out = new Screen(process.stdout);
      await out.until("up\n");
      process.signal("SIGTERM");
      await out.until("er\n");
      await out.until("er\n");
      expect(out.text.split("\n").sort()).toEqual(["", "inner", "outer", "up"]);
      process.signal("SIGKILL");
      expect(await process.result).toMatchObject({
        exitCode: 137,
        outcome: { kind: "signaled", signal: "SIGKILL" },
      });
      process.signal("SIGTERM"); // after the end: nothing
    });

    test("SIGSTOP and SIGCONT hold it and let it go on", async () => {
      const process = await spawn(
        makeRunner(tempDirectory()),
        "while :; do echo x; sleep 0.01; done",
      );
      const out = new Screen(process.stdout);
      await out.until("x\n");
      process.signal("SIGSTOP");
      await delay(kQuietMs); // what it had written comes yet
      const { length } = out.text;
      await delay(kQuietMs);
      expect(out.text.length).toBe(length);
      process.signal("SIGCONT");
      await out.until("x\nx\nx\n");
      expect((await process.stop()).outcome.kind).toBe("aborted");
    });

    test.each(kEnds)("ends as exec does: %s", async (_name, input) => {
      const runner = makeRunner(tempDirectory());
      const expected = await runner.exec(input);
      const process = await runner.spawn(input);
      const stderr = process.stderr ?? Readable.from([]);
      const [out, err, result] = await Promise.all([
        whole(process.stdout),
        whole(stderr),
        process.result,
      ]);
      expect(comparable(result)).toEqual(comparable(expected));
      expect({ out, err }).toEqual({ out: text(expected.stdout), err: text(expected.stderr) });
    });

    test("has no deadline of its own, and the environment that exec gives", async () => {
      const runner = makeRunner(tempDirectory());
      const input = { argv: ["env"], env: { A: "1 2" } };
      const process = await runner.spawn(input);
      // In no order: a host's process.env need not have one (Deno's has another at each call).
      const lines = (output: string) => withoutHomeId(output).split("\n").sort();
      const stdout = text((await runner.exec(input)).stdout);
      expect(lines(await whole(process.stdout))).toEqual(lines(stdout));
    });

    test("nothing is left, however it ends", async () => {
      const mark = newMark();
      const env = { [kMarker]: mark };
      const script =
        "(setsid sleep 1000 &) & sh -c 'trap \"\" TERM HUP; echo up; sleep 1000' & wait";
      const controller = new AbortController();
      const inputs: Partial<NativeSpawnInput>[] = [
        {},
        { signal: controller.signal },
        { limits: { timeoutMs: 1500 } },
      ];
      const runner = makeRunner(tempDirectory());
      const started = await Promise.all(
        inputs.map((input) => spawn(runner, script, { env, ...input })),
      );
      await Promise.all(started.map((process) => new Screen(process.stdout).until("up")));
      const [first, second, third] = started;
      const stopped = await first?.stop();
      controller.abort();
      expect(stopped?.outcome.kind).toBe("aborted");
      expect((await second?.result)?.outcome.kind).toBe("aborted");
      expect((await third?.result)?.outcome.kind).toBe("timed-out");
      expect(marked(mark)).toEqual([]);
      expect(await first?.stop()).toBe(stopped);
    });

    test("await using stops it", async () => {
      const process = await spawn(makeRunner(tempDirectory()), "sleep 1000");
      await process[Symbol.asyncDispose]();
      expect((await process.result).outcome.kind).toBe("aborted");
    });

    test("before it starts it can be aborted", async () => {
      const workspace = tempDirectory();
      const runner = makeRunner(workspace);
      const script = "echo ran | tee ran";
      const signal = AbortSignal.abort();
      for (let round = 0; round < 5; round += 1) {
        const process = await spawn(runner, script, { signal });
        expect((await process.result).outcome.kind).toBe("aborted");
        expect(await whole(process.stdout)).toBe("");
      }
      expect(existsSync(join(workspace, "ran"))).toBe(false);
      await (await spawn(runner, script)).result;
      expect(existsSync(join(workspace, "ran"))).toBe(true);
    });
  });
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
}

describe("spawn", () => {
  test("holds no slot of maxConcurrent", async () => {
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory(), maxConcurrent: 1 });
    const processes = await Promise.all([spawn(runner, "sleep 1000"), spawn(runner, "sleep 1000")]);
    expect((await runner.exec({ argv: ["true"] })).exitCode).toBe(0);
    await Promise.all(processes.map((process) => process.stop()));
  });

  testUnless(whyNoBubblewrap, "is refused by a closed runner, and ended by close", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const process = await spawn(runner, "sleep 1000");
    await runner.close();
    expect((await process.result).outcome.kind).toBe("aborted");
    await expect(spawn(runner, "true")).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
  });
});
