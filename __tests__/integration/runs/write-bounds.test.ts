// As root too: whose files a sandbox's processes have open differs for root.
/** `writeBytes` and `reserveBytes` end a run that writes more, in whatever way; one within them is not disturbed. */

import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
  type NativeLimits,
  type NativeRunner,
} from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { describeBackends } from "../support/transactions.js";
import { toldUnderMounts } from "../transaction/own-mounts.js";

const kMebibyte = 2 ** 20;
const kMost = 8; // mebibytes
const kSlackMs = 4000; // what stays for five seconds is ended earlier

let tools = "";
beforeAll(() => {
  tools = tempDirectory("tools");
  buildProbe(tools);
});

const kHostile = readFileSync(fileURLToPath(new URL("hostile-writes.txt", import.meta.url)), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });

const isHidden = ([name]: readonly [string, string]) =>
  [
    "mapped and deleted",
    "deleted and in a message",
    "a file in a directory that is closed",
  ].includes(name);
const kHidden = kHostile.filter(isHidden);
const kSeen = kHostile.filter((each) => !isHidden(each));

/** The same line, which stays for a shorter while. */
const briefly = (line: string) => line.replace(/5$/, "1");

const kOver = { kind: "limit-exceeded", limit: "writeBytes" };

/** Runs a line with N mebibytes to write; bash, since its lines count. */
function writes(runner: NativeRunner, line: string, mebibytes: number, limits: NativeLimits) {
  const script = `export PATH=/probe:"$PATH"; N=${mebibytes}; ${line}`;
  return run(runner, ["bash", "-c", script], { limits });
}

function makeRunner(shadowDir = tempDirectory()) {
  writeFileSync(join(shadowDir, "there"), Buffer.alloc(kMebibyte));
  const mounts = [{ hostPath: tools, guestPath: "/probe", mode: "ro" as const }];
  return new BubblewrapNativeRunner({ shadowDir, mounts });
}

/** Runs such a line on a disk that nobody else writes to or removes from. */
function onOwnDisk(line: string, mebibytes: number) {
  const top = tempDirectory();
  const script = `export PATH=/probe:"$PATH"; N=${mebibytes}; ${line}`;
  return toldUnderMounts<{
    outcome: unknown;
    exitCode: unknown;
    audits: unknown;
    denials: unknown;
  }>(
    `mount -t tmpfs -o size=64m none ${top}`,
    `const mounts = [{ hostPath: ${JSON.stringify(tools)}, guestPath: "/probe", mode: "ro" }];
    const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(top)}, mounts, prewarm: 0 });
    const limits = { writeBytes: ${kMost * kMebibyte} };
    const result = await runner.exec({ argv: ["bash", "-c", ${JSON.stringify(script)}], limits });
    await runner.close();
    tell(result);`,
  );
}

/** What the result of a run that has written more is. */
const kEnded = {
  outcome: kOver,
  exitCode: 137,
  audits: [{ outcome: "limit-exceeded", kill: "proved" }],
  denials: [{ by: "limits", operation: "writeBytes" }],
};

describeSandboxed("writeBytes", () => {
  test.each(kSeen)("%s: ended when it is more", async (_, line) => {
    const runner = makeRunner();
    const limits = { writeBytes: kMost * kMebibyte };
    const seen = await writes(runner, line, 2 * kMost, limits);
    expect(seen.result, seen.err).toMatchObject(kEnded);
    expect(seen.result.audits?.[0]?.durationMs).toBeLessThan(kSlackMs);
    await runner.close();
  });

  // What may be hidden is taken for what is missing on the disk, which others would change.
  test.each(kHidden)("%s: ended when it is more, on a disk of its own", (_, line) => {
    const result = onOwnDisk(line, 2 * kMost);
    expect(result).toMatchObject(kEnded);
    expect(result.audits).toMatchObject([{ durationMs: expect.toSatisfy((ms) => ms < kSlackMs) }]);
  });

  test.each(kHidden)("%s: not disturbed when it is less, on a disk of its own", (_, line) => {
    expect(onOwnDisk(briefly(line), kMost / 2)).toMatchObject({
      outcome: { kind: "exited" },
      exitCode: 0,
    });
  });

  test.each(kSeen)("%s: not disturbed when it is less", async (_, line) => {
    const runner = makeRunner();
    const limits = { writeBytes: kMost * kMebibyte, timeoutMs: 10_000 };
    const seen = await writes(runner, briefly(line), kMost / 2, limits);
    expect(seen.result.outcome, seen.err).toEqual({ kind: "exited" });
    expect(seen.exitCode).toBe(0);
    await runner.close();
  });

  test("a hole is nothing, and what is written anew is counted once", async () => {
    const limits = { writeBytes: kMost * kMebibyte };
    const runner = makeRunner();
    for (const line of [
      "truncate -s 1G hole",
      "for i in $(seq 10); do head -c 4M /dev/zero > same; done",
      "head -c 4M /dev/zero > one; ln one two; mv one three",
      "for i in $(seq 10); do head -c 4M /dev/zero > gone; rm gone; done",
    ]) {
      expect((await writes(runner, line, 0, limits)).result.outcome, line).toEqual({
        kind: "exited",
      });
    }
    await runner.close();
  });

  test("a run that has ended by itself is over it too", async () => {
    const runner = makeRunner();
    const limits = { writeBytes: kMebibyte };
    const seen = await writes(runner, "head -c 2M /dev/zero > file; exit 3", 0, limits);
    expect(seen.result.outcome).toEqual(kOver);
    const next = await writes(runner, "head -c 100K /dev/zero >> file; exit 3", 0, limits);
    expect(next.result.outcome).toEqual({ kind: "exited" });
    expect(next.exitCode).toBe(3);
    await runner.close();
  });

  test("a program of spawn", async () => {
    const runner = makeRunner();
    const limits = { writeBytes: kMebibyte };
    const live = await runner.spawn({
      argv: ["sh", "-c", "head -c 4M /dev/zero > a; sleep 5"],
      limits,
    });
    expect((await live.result).outcome).toEqual(kOver);
    await runner.close();
  });

  test("each command of a session", async () => {
    const session = await makeRunner().openSession();
    const limits = { writeBytes: kMost * kMebibyte };
    const less = "head -c 6M /dev/zero > /tmp/$RANDOM; head -c 1M /dev/zero > ~/$RANDOM; sleep 0.2";
    for (let command = 0; command < 3; command += 1) {
      expect((await writes(session, less, 0, limits)).result.outcome).toEqual({ kind: "exited" });
    }
    for (const more of [
      "head -c 9M /dev/zero > /tmp/x; sleep 5",
      "exec 7> x; rm x; head -c 9M /dev/zero >&7; sleep 5",
    ]) {
      expect((await writes(session, more, 0, limits)).result.outcome).toEqual(kOver);
    }
    expect((await writes(session, "echo on", 0, limits)).out).toBe("on");
    await session.close();
  });

  test("with Landlock", async () => {
    const runner = new LandlockNativeRunner({
      shadowDir: tempDirectory(),
      fsWriteDirs: [],
      fsReadDirs: ["/usr", "/bin", "/lib", "/lib64", "/etc"].filter((path) => existsSync(path)),
    });
    const limits = { writeBytes: kMost * kMebibyte };
    for (const place of [".", "~"]) {
      const line = (size: string, rest: string) =>
        `head -c ${size} /dev/zero > ${place}/file; sleep ${rest}`;
      expect((await writes(runner, line("9M", "5"), 0, limits)).result.outcome, place).toEqual(
        kOver,
      );
      expect(
        (await writes(runner, `rm -f ${place}/file; ${line("4M", "0.2")}`, 0, limits)).result
          .outcome,
      ).toEqual({ kind: "exited" });
    }
  });

  test("without a sandbox it can't be kept, so nothing is started", async () => {
    const shadowDir = tempDirectory();
    const runner = new LocalNativeRunner({ shadowDir });
    const seen = await run(runner, "touch file", { limits: { writeBytes: kMebibyte } });
    expect(seen.kind).toBe("setup-failed");
    expect(seen.err).toContain("limits.writeBytes can't be kept");
    expect(existsSync(join(shadowDir, "file"))).toBe(false);
    expect((await run(runner, "touch file", { limits: { reserveBytes: 1 } })).kind).toBe("exited");
  });

  test.each([-1, 1.5, Number.NaN, 2 ** 60])("is no %s", async (value) => {
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory() });
    for (const name of ["writeBytes", "reserveBytes", "cpuShare", "ioShare"]) {
      await expect(run(runner, "true", { limits: { [name]: value } })).rejects.toThrow(
        `\`limits.${name}\``,
      );
    }
  });
});

describeBackends("writeBytes in a transaction", (open) => {
  test("is exact, however short the run is", async () => {
    const { transaction, runner } = await open();
    const block = statSync(tempDirectory()).blksize;
    const limits = { writeBytes: kMebibyte };
    const line = (size: number, name: string) => `head -c ${size} /dev/zero > ${name}`;
    for (let round = 0; round < 3; round += 1) {
      const less = await writes(
        transaction,
        line(kMebibyte - 2 * block, `less-${round}`),
        0,
        limits,
      );
      expect(less.result.outcome).toEqual({ kind: "exited" });
      const more = await writes(transaction, line(kMebibyte + block, `more-${round}`), 0, limits);
      expect(more.result.outcome).toEqual(kOver);
    }
    const seen = await writes(transaction, line(2 * kMebibyte, "~/file"), 0, limits);
    expect(seen.result.outcome).toEqual(kOver);
    await transaction.discard();
    await runner.close();
  });
});

describeSandboxed("reserveBytes", () => {
  const kReserve = 4 * kMebibyte;
  const limited = (reserve: number, writesMebibytes: number, rest: string) => `
    const runner = new BubblewrapNativeRunner({ shadowDir: top, prewarm: 0 });
    const argv = ["sh", "-c", "i=0; while [ $i -lt ${writesMebibytes} ]; do i=$((i + 1)); head -c 1M /dev/zero > $i; sleep 0.1; done; sleep ${rest}"];
    const { outcome } = await runner.exec({ argv, limits: { reserveBytes: ${reserve}, timeoutMs: 20000 } });
    const { bavail, bsize } = fs.statfsSync(top);
    await runner.close();
    tell({ outcome, free: bavail * bsize });`;
  const onSmallDisk = (script: string) => {
    const top = tempDirectory();
    const program = `const top = ${JSON.stringify(top)};\n${script}`;
    return toldUnderMounts<{ outcome: unknown; free: number }>(
      `mount -t tmpfs -o size=16m none ${top}`,
      program,
    );
  };

  test("ends a run before it has filled the disk", () => {
    const { outcome, free } = onSmallDisk(limited(kReserve, 32, "5"));
    expect(outcome).toEqual({ kind: "limit-exceeded", limit: "reserveBytes" });
    expect(free).toBeGreaterThan(0);
  });

  test("does not disturb a run that leaves as much", () => {
    const { outcome } = onSmallDisk(limited(kReserve, 8, "0.2"));
    expect(outcome).toEqual({ kind: "exited" });
  });

  test("refuses a run where less is free before it", () => {
    const { outcome } = onSmallDisk(limited(17 * kMebibyte, 0, "0"));
    expect(outcome).toMatchObject({
      kind: "setup-failed",
      fix: expect.stringContaining("lower reserveBytes"),
    });
    expect((outcome as { reason: string }).reason).toMatch(
      /^limits.reserveBytes can't be kept: \d+ bytes are free/,
    );
  });
});
