/** What runners tell their log, by runtimes that are real. */

import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";

import {
  type AuditEntry,
  AuditLog,
  BubblewrapNativeRunner,
  Bwrap,
  createRuntime,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
  readAuditLog,
  verifyAuditLog,
} from "../../../lib/index.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

let path = "";
let shadowDir = "";
beforeEach(() => {
  path = join(tempDirectory("audit"), "log");
  shadowDir = tempDirectory();
});

async function entries(): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  for await (const entry of readAuditLog(path)) all.push(entry);
  return all;
}

/** What was recorded besides the log's own records; the log is closed and whole. */
async function recorded(log: AuditLog): Promise<AuditEntry[]> {
  await log.close();
  expect((await verifyAuditLog(path)).problems).toEqual([]);
  return (await entries()).filter(({ kind }) => kind !== "open" && kind !== "close");
}

const kRunners = [
  ["bubblewrap", whyNoBubblewrap, BubblewrapNativeRunner],
  ["landlock", whyNo("landlock"), LandlockNativeRunner],
  ["firejail", whyNo("firejail"), FirejailNativeRunner],
  ["local", undefined, LocalNativeRunner],
] as const;

for (const [name, why, Runner] of kRunners) {
  describeUnless(why, `runs of ${name}`, () => {
    test("are recorded with their policy, outcome and exit code, as their audit has them", async () => {
      const log = new AuditLog(path);
      const runner = new Runner({ shadowDir, auditLog: log });
      const done = await runner.exec({ argv: ["sh", "-c", "exit 3"] });
      await runner.exec({ argv: ["sleep", "60"], limits: { timeoutMs: 200 } });
      await runner.exec({ argv: ["no-such-program"] });
      const all = (await recorded(log)).filter(({ kind }) => kind !== "template");
      expect(all.map(({ kind }) => kind)).toEqual(["policy", "run", "run", "run"]);
      const [audit] = done.audits;
      expect(all[0]?.event).toEqual({
        runtime: name,
        policyHash: audit?.policyHash,
        previous: null,
      });
      expect(all[1]?.event).toEqual(JSON.parse(JSON.stringify({ ...audit, exitCode: 3 })));
      expect(all.slice(2).map(({ event }) => "outcome" in event && event.outcome)).toEqual([
        "timed-out",
        "not-found",
      ]);
    });
  });
}

describeUnless(whyNoBubblewrap, "with Bubblewrap", () => {
  test("live processes, batches and sessions are recorded, and that a session was opened", async () => {
    const log = new AuditLog(path);
    await using runner = new BubblewrapNativeRunner({ shadowDir, auditLog: log, prewarm: 0 });
    const live = await runner.spawn({ argv: ["cat"] });
    live.stdin.end();
    await live.result;
    const session = await runner.openSession();
    await session.exec({ argv: ["true"] });
    await session.close();
    await runner.execBatch([["true"], ["false"]]);
    const all = await recorded(log);
    expect(all.filter(({ kind }) => kind === "session")).toHaveLength(2);
    const runs = all.flatMap((entry) => (entry.kind === "run" ? [entry.event] : []));
    expect(runs.map(({ start, exitCode }) => `${start} ${exitCode}`)).toEqual([
      "cold 0",
      "session 0",
      "session 0",
      "session 1",
    ]);
  });

  test("what is done with a transaction is recorded, with what a commit has written", async () => {
    const log = new AuditLog(path);
    await using runner = new BubblewrapNativeRunner({ shadowDir, auditLog: log });
    const directory = tempDirectory("state");
    const transaction = await runner.openTransaction({ directory });
    await transaction.exec({ argv: ["sh", "-c", "echo one > file"] });
    await transaction.commit();
    await transaction.undo();
    await transaction.discard();
    const all = await recorded(log);
    const deeds = all.flatMap((entry) => (entry.kind === "transaction" ? [entry.event] : []));
    expect(deeds.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      "commit done",
      "undo done",
      "discard done",
    ]);
    expect(deeds[0]?.committed).toMatchObject([{ path: "file", kind: "added" }]);
    const runs = all.flatMap((entry) => (entry.kind === "run" ? [entry.event] : []));
    expect(runs.map(({ transaction: id }) => id)).toEqual([transaction.id]);
  });

  test("a template is recorded before the first run that is cloned from it", async () => {
    const log = new AuditLog(path);
    await using runner = new BubblewrapNativeRunner({ shadowDir, auditLog: log, prewarm: 0 });
    let start = "";
    for (let at = 0; at < 200 && start !== "cloned"; at += 1) {
      start = (await runner.exec({ argv: ["true"] })).audits[0]?.start ?? "";
    }
    const kinds = (await recorded(log)).map(({ kind }) => kind);
    // Where no clones can be had, every run is cold, and no template is told of.
    expect(kinds.slice(-2)).toEqual(start === "cloned" ? ["template", "run"] : ["run", "run"]);
  });

  test("several runners share one log, and each tells its own policy", async () => {
    const log = new AuditLog(path);
    const one = new BubblewrapNativeRunner({ shadowDir, auditLog: log });
    const other = new BubblewrapNativeRunner({ shadowDir, auditLog: log, network: "allow" });
    await Promise.all([one, other, one, other].map((each) => each.exec({ argv: ["true"] })));
    const all = await recorded(log);
    expect(all.filter(({ kind }) => kind === "policy")).toHaveLength(2);
    expect(all.filter(({ kind }) => kind === "run")).toHaveLength(4);
    await Promise.all([one.close(), other.close()]);
  });

  test("project commands are recorded, and what is done with their transaction", async () => {
    const log = new AuditLog(path);
    const bwrap = new Bwrap(shadowDir, [], false, { auditLog: log });
    await bwrap.exec("exit 4");
    const directory = tempDirectory("state");
    const careful = new Bwrap(shadowDir, [], false, { auditLog: log, transaction: { directory } });
    await careful.exec("echo x > made");
    const transaction = await careful.transaction();
    await transaction.discard();
    const all = await recorded(log);
    const reported = all.map((entry) =>
      entry.kind === "run" ? `run ${entry.event.exitCode}` : entry.kind,
    );
    expect(reported).toEqual(["policy", "run 4", "policy", "run 0", "transaction"]);
  });

  test("a runtime's runners record, and so does `execute`", async () => {
    const log = new AuditLog(path);
    const runtime = await createRuntime({ runtimeType: "bubblewrap" }, { auditLog: log });
    await runtime.execute("exit 5", { workdir: shadowDir });
    await runtime.runner({ shadowDir }).exec({ argv: ["true"] });
    const runs = (await recorded(log)).flatMap((entry) =>
      entry.kind === "run" ? [entry.event.exitCode] : [],
    );
    expect(runs).toEqual([5, 0]); // and none of the proof that it works
  });

  test("a log that can't be written, or was closed, holds up no run", async () => {
    const errors: string[] = [];
    const log = new AuditLog(path, { onError: ({ message }) => void errors.push(message) });
    const runner = new BubblewrapNativeRunner({ shadowDir, auditLog: log });
    await log.close();
    expect((await runner.exec({ argv: ["true"] })).exitCode).toBe(0);
    expect(errors).toEqual([`the audit log ${path} has lost a record: it was closed`]);
    await runner.close();
  });
});

describe("options", () => {
  test.each([5, {}, null, "path", { path: "x", grant() {} }])(
    "%j is no AuditLog",
    async (auditLog) => {
      const wrong = { shadowDir, auditLog: auditLog as never };
      for (const [, , Runner] of kRunners) expect(() => new Runner(wrong)).toThrow("auditLog");
      expect(() => new Bwrap(shadowDir, [], false, { auditLog: auditLog as never })).toThrow(
        "auditLog",
      );
      await expect(createRuntime({}, { auditLog: auditLog as never })).rejects.toThrow("auditLog");
    },
  );

  test("with a key, records are signed, as the public half shows", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const log = new AuditLog(path, { key, signEvery: 2 });
    const runner = new LocalNativeRunner({ shadowDir, auditLog: log });
    for (let at = 0; at < 5; at += 1) await runner.exec({ argv: ["true"] });
    await log.close();
    const found = await verifyAuditLog(path, { publicKey });
    expect(found).toMatchObject({ ok: true, signed: 5, unsignedAtEnd: 0 });
  });
});
