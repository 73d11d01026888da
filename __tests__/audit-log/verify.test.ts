// What verifyAuditLog says of a log that was bent, each way of bending it told from the others.

import { generateKeyPairSync } from "node:crypto";
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { verifyAuditLog } from "../../lib/audit-log/verify.js";
import { directory, hashIn, keys, madeLines, sealAll, written } from "./made-log.js";

const kinds = async (lines: readonly string[]) =>
  (await verifyAuditLog(written(lines))).problems.map(({ kind, line }) => `${kind} ${line}`);

const lineAt = (lines: readonly string[], at: number) => lines[at] ?? "";

describe("a log as it was written", () => {
  test.each([1, 2, 100, 5000])("of %i records is as it was", async (count) => {
    const lines = madeLines(count - 1);
    const found = await verifyAuditLog(written(lines));
    expect(found).toEqual({
      ok: true,
      files: [expect.stringMatching(/log$/)],
      records: count,
      head: hashIn(lines.at(-1)),
      afterExpectedHead: null,
      signed: null,
      unsignedAtEnd: null,
      lost: 0,
      recovered: 0,
      problems: [],
      problemsOmitted: 0,
    });
  });

  test("an empty one is one too", async () => {
    expect(await verifyAuditLog(written([]))).toMatchObject({ ok: true, records: 0, head: null });
  });

  test("one that is not there is an error", async () => {
    const path = join(directory(), "none");
    await expect(verifyAuditLog(path)).rejects.toMatchObject({ code: "ERR_AUDIT_LOG_MISSING" });
    await expect(verifyAuditLog(join(path, "deeper"))).rejects.toMatchObject({
      code: "ERR_AUDIT_LOG_MISSING",
    });
  });

  test("lines of a megabyte and more are read", async () => {
    const event = { argv: ["x".repeat(3_000_000)] };
    const lines = sealAll(Array.from({ length: 4 }, () => ({ kind: "run" as const, event })));
    expect(await verifyAuditLog(written(lines))).toMatchObject({ ok: true, records: 4 });
  });

  test("what the writer tells of itself is counted, and is no problem", async () => {
    const lines = sealAll([
      { kind: "open", event: { signEvery: 64, publicKey: null } },
      { kind: "gap", event: { lost: 7, reason: "no space" } },
      { kind: "recovered", event: { bytes: 3, sha256: "", text: "" } },
    ]);
    expect(await verifyAuditLog(written(lines))).toMatchObject({ ok: true, lost: 7, recovered: 1 });
  });
});

describe("a log that was bent", () => {
  const lines = madeLines(9); // records 0 to 9, on lines 1 to 10

  test("every byte that is flipped is seen, and in its line", async () => {
    const path = written(lines);
    const whole = readFileSync(path);
    let line = 1;
    for (let at = 0; at < whole.length; at += 1) {
      const isEnd = whole[at] === 10;
      const bent = Buffer.from(whole);
      bent[at] = (whole[at] ?? 0) ^ 1;
      writeFileSync(path, bent);
      const { ok, problems } = await verifyAuditLog(path);
      expect({ at, ok }).toEqual({ at, ok: false });
      // Two lines become one, or one two, where it is the end; the first of them is told.
      if (!isEnd) expect({ at, line: problems[0]?.line }).toEqual({ at, line });
      if (isEnd) line += 1;
    }
  });

  test("a changed line", async () => {
    const changed = lines.with(4, lineAt(lines, 4).replace('"3"', '"4"'));
    expect(await kinds(changed)).toEqual(["changed 5"]);
  });

  test("a changed line that was given its new hash", async () => {
    const own = sealAll([{ kind: "run", event: { argv: ["rm"] } }], undefined, 4, {
      seq: 3,
      prev: hashIn(lines[2]),
    });
    expect(await kinds(lines.with(3, lineAt(own, 0)))).toEqual(["rewritten 5"]);
  });

  test("a line that is no record", async () => {
    expect(await kinds(lines.with(4, "{}"))).toEqual(["damaged 5"]);
    expect(await kinds(lines.with(4, ""))).toEqual(["damaged 5"]);
    expect(await kinds(lines.with(9, "\u0000"))).toEqual(["damaged 10"]);
  });

  test.each([0, 1, 4, 8])("a deleted line, at %i", async (at) => {
    expect(await kinds(lines.toSpliced(at, 1))).toEqual([`deleted ${at + 1}`]);
  });

  test("several deleted lines", async () => {
    const { problems } = await verifyAuditLog(written(lines.toSpliced(3, 4)));
    expect(problems).toEqual([
      {
        kind: "deleted",
        file: "log",
        line: 4,
        message: "4 records are missing before this one: records 3 to 6",
      },
    ]);
  });

  test("an inserted line: garbage, a copy, of another log, and one that was made to fit", async () => {
    expect(await kinds(lines.toSpliced(4, 0, "garbage"))).toEqual(["inserted 5"]);
    expect(await kinds(lines.toSpliced(4, 0, lineAt(lines, 1)))).toEqual(["inserted 5"]);
    expect(await kinds(lines.toSpliced(4, 0, lineAt(lines, 3)))).toEqual(["inserted 4"]); // either
    const other = madeLines(20);
    expect(await kinds(lines.toSpliced(4, 0, lineAt(other, 15)))).toEqual(["inserted 5"]);
    const fitting = sealAll([{ kind: "run", event: { argv: ["made up"] } }], undefined, 4, {
      seq: 4,
      prev: hashIn(lines[3]),
    });
    expect(await kinds(lines.toSpliced(4, 0, lineAt(fitting, 0)))).toEqual(["inserted 5"]);
  });

  test("lines that changed places", async () => {
    const swapped = lines.with(4, lineAt(lines, 5)).with(5, lineAt(lines, 4));
    expect(await kinds(swapped)).toEqual(["moved 6"]);
    const later = [...lines.toSpliced(2, 1).slice(0, 6), lineAt(lines, 2), ...lines.slice(7)];
    expect(await kinds(later)).toEqual(["moved 7"]);
  });

  test("a torn line, at every byte of the last one", async () => {
    const path = written(lines);
    const whole = readFileSync(path);
    const last = whole.length - lineAt(lines, 9).length - 1;
    for (let size = last + 1; size < whole.length; size += 1) {
      writeFileSync(path, whole.subarray(0, size));
      const { problems, records } = await verifyAuditLog(path);
      expect(problems.map(({ kind }) => kind)).toEqual(["torn"]);
      expect(records).toBe(9);
    }
  });

  test("a cut end is seen by the expected head, and by nothing else", async () => {
    const path = written(lines.slice(0, 7));
    expect((await verifyAuditLog(path)).ok).toBe(true);
    const { problems } = await verifyAuditLog(path, { expectHead: hashIn(lines[9]) });
    expect(problems.map(({ kind }) => kind)).toEqual(["truncated"]);
    const found = await verifyAuditLog(path, { expectHead: hashIn(lines[4]) });
    expect(found).toMatchObject({ ok: true, afterExpectedHead: 2 });
  });

  test("of a thousand problems a hundred are told, and the rest counted", async () => {
    const { problems, problemsOmitted } = await verifyAuditLog(
      written(madeLines(1000).map((line) => line.replace('"argv"', '"ARGV"'))),
    );
    expect(problems).toHaveLength(100);
    expect(problemsOmitted).toBe(900);
  });
});

describe("with a key", () => {
  const lines = madeLines(10, { key: keys.privateKey });
  const verify = (all: readonly string[], publicKey = keys.publicKey) =>
    verifyAuditLog(written(all), { publicKey });

  test("signatures are looked at, and what comes behind the last is counted", async () => {
    expect(await verify(lines)).toMatchObject({ ok: true, signed: 3, unsignedAtEnd: 3 });
    const pem = keys.publicKey.export({ type: "spki", format: "pem" }).toString();
    expect(await verifyAuditLog(written(lines), { publicKey: pem })).toMatchObject({ ok: true });
  });

  test("one that was written anew without it is seen", async () => {
    const found = await verify(madeLines(10));
    expect(found.problems.map(({ kind, line }) => `${kind} ${line}`)).toEqual([
      "unsigned 1",
      "unsigned 4",
      "unsigned 8",
    ]);
    expect(found.signed).toBe(0);
  });

  test("one that says it is hardly ever signed is seen by its first record", async () => {
    const { problems } = await verify(madeLines(10, { signEvery: 1_000_000 }));
    expect(problems.map(({ kind, line }) => `${kind} ${line}`)).toEqual(["unsigned 1"]);
  });

  test("every byte that is flipped is seen, of signatures too", async () => {
    const path = written(lines);
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at += 1) {
      const bent = Buffer.from(whole);
      bent[at] = (whole[at] ?? 0) ^ 1;
      writeFileSync(path, bent);
      const { ok } = await verifyAuditLog(path, { publicKey: keys.publicKey });
      expect({ at, ok }).toEqual({ at, ok: false });
    }
  });

  test("another key", async () => {
    const other = generateKeyPairSync("ed25519");
    const { problems } = await verify(lines, other.publicKey);
    expect(problems[0]?.message).toBe("from here on the log was signed with another key");
    expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(["signature"]));
  });

  test("a signature that was taken away, or given to another record", async () => {
    const bare = lines.with(3, lineAt(lines, 3).replace(/,"sig":"[^"]*"/, ""));
    expect((await verify(bare)).problems.map(({ kind }) => kind)).toEqual(["unsigned"]);
    const sig = /,"sig":"[^"]*"/.exec(lineAt(lines, 7))?.[0] ?? "";
    const moved = lines.with(3, lineAt(lines, 3).replace(/,"sig":"[^"]*"/, sig));
    expect((await verify(moved)).problems.map(({ kind }) => kind)).toEqual(["signature"]);
  });

  test.each([
    ["expectHead", { expectHead: "abc" }],
    ["expectHead", { expectHead: 5 }],
    ["publicKey", { publicKey: "no key" }],
    ["publicKey", { publicKey: 5 }],
    ["publicKey", { publicKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey }],
    ["unknown", { unknown: 1 }],
  ])("a wrong %s is an error that names it", async (field, options) => {
    await expect(verifyAuditLog(written(lines), options as object)).rejects.toThrow(field);
  });
});

describe("files that were put aside", () => {
  /** Three files, of 5, 5 and 3 records. */
  function files(): { path: string; all: string[] } {
    const path = join(directory(), "log");
    const first = madeLines(4);
    const begin = (previous: string, lines: readonly string[], seq: number, runs: number) => {
      const head = hashIn(lines.at(-1));
      const made = Array.from({ length: runs }, () => ({ kind: "run" as const, event: {} }));
      const file = { kind: "file" as const, event: { previous, head } };
      return sealAll([file, ...made], undefined, 4, { seq, prev: head });
    };
    const second = begin("log.1", first, 5, 4);
    const third = begin("log.2", second, 10, 2);
    written(first, `${path}.1`);
    written(second, `${path}.2`);
    written(third, path);
    return { path, all: [...first, ...second, ...third] };
  }

  test("are read in their order", async () => {
    const { path, all } = files();
    const found = await verifyAuditLog(path);
    expect(found).toMatchObject({ ok: true, records: 13, head: hashIn(all.at(-1)) });
    expect(found.files.map((file) => file.slice(path.length))).toEqual([".1", ".2", ""]);
  });

  test("one that is missing is named", async () => {
    for (const missing of [".1", ".2"]) {
      const { path } = files();
      rmSync(path + missing);
      const { problems } = await verifyAuditLog(path);
      expect(problems).toEqual([
        {
          kind: "missing-file",
          file: missing === ".1" ? "log.2" : "log",
          line: 1,
          message: `the file before this one, log${missing}, is missing`,
        },
      ]);
    }
  });

  test("two that changed places, and one whose end was cut", async () => {
    const { path } = files();
    renameSync(`${path}.1`, `${path}.3`);
    renameSync(`${path}.2`, `${path}.1`);
    renameSync(`${path}.3`, `${path}.2`);
    expect((await verifyAuditLog(path)).ok).toBe(false);
    const cut = files();
    const lines = readFileSync(`${cut.path}.1`, "utf8").split("\n").slice(0, 3);
    written(lines, `${cut.path}.1`);
    const { problems } = await verifyAuditLog(cut.path);
    expect(problems.map(({ kind, file }) => `${kind} ${file}`)).toEqual(["deleted log.2"]);
  });

  test("other files beside them are not read", async () => {
    const { path } = files();
    for (const name of [".lock", ".0", ".01", ".1.gz", ".x"])
      appendFileSync(path + name, "other\n");
    expect((await verifyAuditLog(path)).ok).toBe(true);
  });
});
