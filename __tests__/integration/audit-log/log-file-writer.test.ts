/** The file of an audit log: one writer, whatever becomes of it, and of the disk. */

import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";

import { type AuditEntry, AuditLog, readAuditLog, verifyAuditLog } from "../../../lib/index.js";
import { kNodeInside } from "../support/node-arguments.js";
import { describeUnless, plainEnvironment, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kWriter = fileURLToPath(new URL("../hosts/audit/writer.mjs", import.meta.url));
const kWriterWords = [...kNodeInside, kWriter];
const kRounds = 12;

let path = "";
beforeEach(() => {
  path = join(tempDirectory("audit"), "log");
});

const grant = (at: number) => ({ option: "test", value: at });

async function entries(): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  for await (const entry of readAuditLog(path)) all.push(entry);
  return all;
}

const kindsOf = async () => (await entries()).map(({ kind }) => kind);

/** Runs hosts/audit/writer.mjs to its end. */
function write(how: string, before: readonly string[] = [], at = path): string {
  const [program = "", ...args] = [...before, ...kWriterWords, at, how];
  const done = spawnSync(program, args, { encoding: "utf8", env: plainEnvironment() });
  expect(done.stderr).toBe("");
  return done.stdout;
}

describe("one writer", () => {
  test("what was recorded is in the file, for its owner alone, when flush and close resolve", async () => {
    const log = new AuditLog(path);
    log.grant(grant(1));
    await log.flush();
    expect(await kindsOf()).toEqual(["open", "grant"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await log.close();
    await log.close();
    expect(await kindsOf()).toEqual(["open", "grant", "close"]);
    expect(await verifyAuditLog(path)).toMatchObject({ ok: true, head: log.head });
    expect(() => log.grant(grant(2))).toThrow(
      expect.objectContaining({ code: "ERR_AUDIT_LOG_CLOSED" }),
    );
  });

  test("a second one is refused, here and in another process, until it is closed", async () => {
    const log = new AuditLog(path);
    const locked = {
      code: "ERR_AUDIT_LOG_LOCKED",
      message: expect.stringContaining(`${process.pid}`),
    };
    expect(() => new AuditLog(path)).toThrow(expect.objectContaining(locked));
    const [program = "", ...args] = [...kWriterWords, path, "exit"];
    const other = spawnSync(program, args, { encoding: "utf8", env: plainEnvironment() });
    expect(other.stderr).toContain("ERR_AUDIT_LOG_LOCKED");
    await log.close();
    write("exit");
    expect(await verifyAuditLog(path)).toMatchObject({ ok: true, records: 1003 });
  });

  test("goes on where it was, also with another key", async () => {
    for (let round = 0; round < 3; round += 1) {
      await using log = new AuditLog(path);
      log.grant(grant(round));
    }
    expect((await entries()).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect((await verifyAuditLog(path)).ok).toBe(true);
  });

  test("what waits at process.exit() is written, and in a worker that ends", async () => {
    write("exit");
    write("worker");
    const found = await verifyAuditLog(path);
    expect(found).toMatchObject({ ok: true, records: 2002, recovered: 0 });
  });
});

describe("what is no log, or can't be written", () => {
  test.each(["directory", "fifo", "link"] as const)("a %s", (what) => {
    if (what === "directory") mkdirSync(path);
    else if (what === "fifo") spawnSync("mkfifo", [path]);
    else {
      writeFileSync(`${path}.other`, "");
      symlinkSync(`${path}.other`, path);
    }
    expect(() => new AuditLog(path)).toThrow(
      expect.objectContaining({ code: "ERR_AUDIT_LOG_UNWRITABLE" }),
    );
  });

  test.each(["another file\n", "another file", '{"v":1,"seq":0}\n', "\n"])("%j", async (text) => {
    writeFileSync(path, text);
    expect(() => new AuditLog(path)).toThrow(
      expect.objectContaining({ code: "ERR_AUDIT_LOG_DAMAGED" }),
    );
    expect(readFileSync(path, "utf8")).toBe(text); // as it was
  });

  test("one that was changed at its end is left as it is", async () => {
    await new AuditLog(path).close();
    const changed = readFileSync(path, "utf8").replace('"lost":0', '"lost":9');
    writeFileSync(path, changed);
    expect(() => new AuditLog(path)).toThrow("can't go on");
    expect(readFileSync(path, "utf8")).toBe(changed);
  });

  test("a directory that is not there", () => {
    expect(() => new AuditLog(join(path, "log"))).toThrow(
      expect.objectContaining({ code: "ERR_AUDIT_LOG_UNWRITABLE" }),
    );
  });

  test.each(["removed", "replaced"])("one that is %s while it is written", async (how) => {
    const errors: Error[] = [];
    const log = new AuditLog(path, { onError: (error) => void errors.push(error) });
    await log.flush();
    const aside = `${path}.aside`;
    renameSync(path, aside);
    if (how === "replaced") writeFileSync(path, "");
    log.grant(grant(1));
    await expect(log.flush()).rejects.toMatchObject({ code: "ERR_AUDIT_LOG_UNWRITABLE" });
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining(`was ${how}`)]);
    renameSync(aside, path);
    await log.close();
    expect(await kindsOf()).toEqual(["open", "grant", "close"]);
  });

  test.each([
    ["path", 5, {}],
    ["path", "", {}],
    ["path", "a\0b", {}],
    ["signEvery", "log", { signEvery: 0 }],
    ["signEvery", "log", { signEvery: "1" }],
    ["maxBytes", "log", { maxBytes: 4095 }],
    ["key", "log", { key: "no key" }],
    ["key", "log", { key: 5 }],
    ["onError", "log", { onError: 5 }],
    ["sign_every", "log", { sign_every: 1 }],
  ])("a wrong %s is an error that names it", (field, file, options) => {
    const place = file === "log" ? path : (file as string);
    expect(() => new AuditLog(place, options as object)).toThrow(field);
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });

  test.each([
    ["option", { option: 5, value: 1 }],
    ["value", { option: "a" }],
    ["value", { option: "a", value: 1n }],
    ["approvedBy", { option: "a", value: 1, approvedBy: 5 }],
    ["argv", { option: "a", value: 1, argv: [5] }],
    ["argv", { option: "a", value: 1, argv: "ls" }],
    ["other", { option: "a", value: 1, other: 1 }],
  ])("a grant with a wrong %s is one too", async (field, wrong) => {
    await using log = new AuditLog(path);
    expect(() => log.grant(wrong as never)).toThrow(field);
  });
});

describe("a death in the middle", () => {
  test("a line that is torn at any byte is cut off, recorded, and the chain goes on", async () => {
    const log = new AuditLog(path);
    log.grant(grant(1));
    await log.close();
    const whole = readFileSync(path);
    const begin = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let size = begin; size < whole.length; size += 1) {
      writeFileSync(path, whole.subarray(0, size));
      await new AuditLog(path).close();
      const torn = whole.subarray(begin, size);
      const found = await verifyAuditLog(path);
      expect(found).toMatchObject({ ok: true, recovered: torn.length === 0 ? 0 : 1 });
      const recovered = (await entries()).find(({ kind }) => kind === "recovered");
      if (recovered?.kind === "recovered") {
        expect(Buffer.from(recovered.event.text, "base64")).toEqual(torn);
      }
    }
  });

  test("SIGKILL at any moment loses nothing that was flushed, and leaves a whole chain", async () => {
    let flushed = 0;
    for (let round = 0; round < kRounds; round += 1) {
      const [program = "", ...args] = [...kWriterWords, path, "flood"];
      const host = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
      const ended = new Promise((resolve) => host.on("close", resolve));
      let said = "";
      host.stdout.on("data", (chunk) => {
        said += String(chunk);
      });
      await new Promise((resolve) => host.stdout.once("data", resolve));
      await delay(Math.random() * 60);
      host.kill("SIGKILL");
      await ended;
      flushed += Number(said.split("\n").at(-2));
      await new AuditLog(path).close();
      expect((await verifyAuditLog(path)).problems).toEqual([]);
    }
    const all = await entries();
    expect(all.filter(({ kind }) => kind === "grant").length).toBeGreaterThanOrEqual(flushed);
    const numbers = all.map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect(readdirSync(join(path, "..")).length).toBeGreaterThan(2); // files were put aside meanwhile
  });

  test("between putting a file aside and the first record of the next", async () => {
    const log = new AuditLog(path);
    log.grant(grant(1));
    await log.close();
    copyFileSync(path, `${path}.copy`);
    for (const state of ["missing", "empty", "torn"]) {
      copyFileSync(`${path}.copy`, `${path}.1`);
      rmSync(path, { force: true });
      if (state !== "missing") writeFileSync(path, state === "torn" ? '{"v":1,"seq":3,"prev' : "");
      await new AuditLog(path).close();
      const found = await verifyAuditLog(path);
      expect({ state, problems: found.problems }).toEqual({ state, problems: [] });
      const kinds = (await kindsOf()).slice(3);
      expect(kinds).toEqual(
        state === "torn" ? ["file", "recovered", "open", "close"] : ["file", "open", "close"],
      );
    }
  });
});

describe("rotation", () => {
  test("names the file before, and no file is longer than asked", async () => {
    const log = new AuditLog(path, { maxBytes: 8192 });
    for (let at = 0; at < 200; at += 1) {
      log.grant({ option: "test", value: "x".repeat((at * 37) % 900) });
      if (at % 20 === 0) await log.flush();
    }
    await log.close();
    const found = await verifyAuditLog(path);
    expect(found).toMatchObject({ ok: true, records: 202 + found.files.length - 1 });
    expect(found.files.length).toBeGreaterThan(10);
    for (const file of found.files) expect(statSync(file).size).toBeLessThanOrEqual(8192);
    const begins = (await entries()).filter(({ kind }) => kind === "file");
    expect(begins.map(({ event }) => event)).toEqual(
      found.files.slice(0, -1).map((_, at) => ({
        previous: `log.${at + 1}`,
        head: expect.stringMatching(/^[0-9a-f]{64}$/),
      })),
    );
  });

  test("a record that is longer than a file may be has one of its own", async () => {
    const log = new AuditLog(path, { maxBytes: 4096 });
    for (let at = 0; at < 3; at += 1) log.grant({ option: "test", value: "x".repeat(20_000) });
    await log.close();
    expect((await verifyAuditLog(path)).files.length).toBeGreaterThanOrEqual(4);
    expect((await verifyAuditLog(path)).ok).toBe(true);
  });

  test("goes on where the last file was truncated on purpose", async () => {
    const log = new AuditLog(path, { maxBytes: 4096 });
    for (let at = 0; at < 30; at += 1) log.grant(grant(at));
    await log.close();
    const { files } = await verifyAuditLog(path);
    truncateSync(path, 0); // all of it: the one before is gone on from, and nobody can tell
    await new AuditLog(path).close();
    expect(files.length).toBeGreaterThan(2);
    expect((await verifyAuditLog(path)).ok).toBe(true);
  });
});

describe("too much", () => {
  test("what comes when the queue is full is counted, told, and has its place in the log", async () => {
    const errors: string[] = [];
    const log = new AuditLog(path, { onError: ({ message }) => void errors.push(message) });
    for (let at = 0; at < 120_000; at += 1) log.grant(grant(at));
    expect(log.lost).toBeGreaterThan(19_000);
    const { lost } = log;
    await log.flush();
    await log.flush(); // the gap
    log.grant(grant(-1));
    await log.close();
    expect(errors[0]).toBe(
      `the audit log ${path} has lost a record: more came than could be written`,
    );
    expect(errors).toHaveLength(3); // and each 10 000
    const found = await verifyAuditLog(path);
    expect(found).toMatchObject({ ok: true, lost });
    const tail = (await entries()).slice(-3).map(({ kind }) => kind);
    expect(tail).toEqual(["gap", "grant", "close"]);
  }, 60_000);
});

describeUnless(whyNoBubblewrap, "a disk that is full", () => {
  test("is told once, leaves no half record, and nothing is lost when there is room again", async () => {
    const place = tempDirectory("full");
    const out = join(tempDirectory("copy"), "log");
    const script = 'at=$1; copy=$2; shift 2; "$@" "$at/log" full && cp "$at/log" "$copy"';
    const full = ["bwrap", "--dev-bind", "/", "/", "--size", `${256 * 1024}`, "--tmpfs", place];
    const words = [...full, "sh", "-c", script, "sh", place, out, ...kWriterWords];
    const [program = "", ...args] = words;
    const done = spawnSync(program, args, { encoding: "utf8", env: plainEnvironment() });
    expect(done.stderr).toBe("");
    const reported = JSON.parse(done.stdout) as {
      errors: string[];
      rejected: string;
      count: number;
    };
    expect(reported).toMatchObject({ rejected: "ERR_AUDIT_LOG_UNWRITABLE", lost: 0 });
    expect(reported.errors).toEqual([expect.stringContaining("ENOSPC")]);
    path = out;
    expect(await verifyAuditLog(out)).toMatchObject({
      ok: true,
      records: reported.count + 12,
      lost: 0,
    });
  });
});
