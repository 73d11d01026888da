/** `native-runner audit`, and `--audit-log` of the commands that do something. */

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

import { AuditLog } from "../../../lib/index.js";
import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const audit = (...words: string[]) => command([...kCli, "audit", ...words]);

const kHostile = "\u001b[31m<script>alert(1)</script>\u202e\"=cmd|' /C calc'!A0";

describeUnless(whyNoBubblewrap ?? whyNoCli, "audit logs of the command line", () => {
  let path = "";
  let outside = "";
  beforeAll(() => {
    path = join(tempDirectory("audit"), "log");
    outside = tempDirectory("outside", "/var/tmp");
    writeFileSync(join(outside, "file"), "x");
    const run = (...words: string[]) => command([...kCli, "run", "--audit-log", path, ...words]);
    expect(run("--", "sh", "-c", "exit 3").status).toBe(3);
    expect(run("--timeout", "200ms", "--", "sleep", "60").status).toBe(124);
    expect(run("--", "echo", kHostile).status).toBe(0);
    const file = join(outside, "file");
    const why = ["why", "--audit-log", path, "--apply", "--yes", "--", "cat", file];
    expect(command([...kCli, ...why]).status).toBe(0);
    const state = tempDirectory("state");
    const workspace = tempDirectory();
    const place = ["--state-directory", state];
    const kept = ["--transaction", ...place, "-w", workspace, "--json"];
    const done = run(...kept, "--", "sh", "-c", "echo x > made");
    const { id } = (JSON.parse(done.stdout) as { transaction: { id: string } }).transaction;
    const tx = command([...kCli, "tx", "commit", id, ...place, "--audit-log", path]);
    expect(tx.status).toBe(0);
  }, 60_000);

  const shown = (...words: string[]) => {
    const { stdout } = audit("show", path, "--json", ...words);
    return (JSON.parse(stdout) as { entries: { kind: string; event: object }[] }).entries;
  };

  test("show prints a table, in which nothing of a command's reaches the terminal", () => {
    const { stdout, status } = audit("show", path);
    expect(status).toBe(0);
    for (const text of ["exited 3", "timed-out", "mounts:", "commit of transaction"]) {
      expect(stdout).toContain(text);
    }
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  test("show filters by kind, outcome, runner, path and time, and by how many", () => {
    const kinds = (...words: string[]) => shown(...words).map(({ kind }) => kind);
    expect(kinds("--outcome", "timed-out")).toEqual(["run"]);
    expect(kinds("--kind", "grant", "--kind", "transaction")).toEqual(["grant", "transaction"]);
    expect(kinds("--runner", "landlock")).toEqual([]);
    expect(kinds("--runner", "bubblewrap", "--kind", "run")).toHaveLength(6);
    expect(kinds("--path", outside).sort()).toEqual(["grant", "run", "run"]);
    expect(kinds("--path", "made")).toEqual(["transaction"]);
    expect(kinds("--path", `${outside}/fil`, "--kind", "run")).toEqual([]);
    expect(kinds("--since", "1h").length).toBeGreaterThan(10);
    expect(kinds("--until", "1h")).toEqual([]);
    expect(kinds("--since", "2999-01-01")).toEqual([]);
    expect(kinds("--limit", "2")).toHaveLength(2);
    expect(audit("show", path, "--limit", "2").stdout).toContain("earlier ones are not shown");
  });

  test("head and verify agree, and verify tells what was done", () => {
    const head = audit("head", path).stdout.trim();
    expect(head).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.parse(audit("head", path, "--json").stdout)).toMatchObject({ head });
    const found = audit("verify", path, "--expect-head", head);
    expect(found.stdout).toContain("the log is as it was written");
    expect(found.stdout).toContain("0 records before the end");
    expect(found.status).toBe(0);
    expect(audit("verify", path).stdout).toContain("A chain alone shows neither");

    const bent = join(tempDirectory("audit"), "bent");
    writeFileSync(bent, readFileSync(path, "utf8").replace('"exitCode":3', '"exitCode":0'));
    const changed = audit("verify", bent);
    expect(changed.stdout).toMatch(/changed bent:\d+: this line was changed/);
    expect(changed.status).toBe(1);
    const { ok, problems } = JSON.parse(audit("verify", bent, "--json").stdout);
    expect({ ok, problems }).toMatchObject({ ok: false, problems: [{ kind: "changed" }] });
    const other = audit("verify", path, "--expect-head", "0".repeat(64));
    expect(other.stdout).toContain("truncated");
    expect(other.status).toBe(1);
  });

  test("signatures are looked at with the public key", async () => {
    const directory = mkdtempSync(join(tempDirectory("audit"), "signed"));
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const log = new AuditLog(join(directory, "log"), { key: privateKey });
    await log.close();
    const pem = join(directory, "public.pem");
    writeFileSync(pem, publicKey.export({ type: "spki", format: "pem" }));
    const signed = audit("verify", join(directory, "log"), "--public-key", pem);
    expect(signed.stdout).toContain("2 signatures by the key; 0 records behind the last");
    expect(audit("verify", path, "--public-key", pem).status).toBe(1);
    expect(audit("verify", path, "--public-key", join(directory, "none"))).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("can't be read"),
    });
  });

  test("export as CSV has a line for each, and no formula", () => {
    const { stdout } = audit("export", path, "--format", "csv");
    const lines = stdout.trimEnd().split("\r\n");
    expect(lines[0]).toBe(
      "seq,time,kind,what,end,runtime,duration_ms,policy_hash,transaction,denials,connections,hash",
    );
    expect(lines).toHaveLength(shown("--limit", "1000").length + 1);
    for (const line of lines) expect(line).not.toMatch(/(^|,)"?[=+@-]/);
  });

  test("export as OTLP has one request on each line", () => {
    const { stdout } = audit("export", path, "--format", "otel", "--kind", "run");
    const records = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).resourceLogs[0].scopeLogs[0].logRecords[0]);
    expect(records).toHaveLength(6);
    expect(records[0]).toMatchObject({
      timeUnixNano: expect.stringMatching(/^\d{19}$/),
      severityText: "WARN",
      body: { stringValue: expect.stringContaining("sh -c 'exit 3'") },
    });
    expect(records[0].attributes).toContainEqual({
      key: "process.exit.code",
      value: { intValue: "3" },
    });
  });

  test("export as HTML is one page, without a script, for its owner alone", () => {
    const page = join(tempDirectory("page"), "audit.html");
    expect(audit("export", path, "--format", "html", "--output", page).status).toBe(0);
    const html = readFileSync(page, "utf8");
    expect(html).toContain("default-src 'none'");
    for (const text of ["<script", "\u001b", "\u202e", "src=", "href="]) {
      expect(html).not.toContain(text);
    }
    expect(html).toContain("&lt;script&gt;alert(1)");
    expect(html.match(/<details>/g)).toHaveLength(shown("--limit", "1000").length);
  });
});

describeUnless(whyNoCli, "misuse", () => {
  describe.each([
    [["verify"], 2, "missing required argument"],
    [["show", "log", "--since", "yesterday"], 2, "2026-11-23T10:00Z"],
    [["show", "log", "--kind", "runs"], 2, "expected one of run,"],
    [["show", "log", "--runner", "docker"], 2, "Allowed choices"],
    [["export", "log"], 2, "--format"],
    [["export", "log", "--format", "pdf"], 2, "otel, csv, html"],
    [["verify", "log", "--expect-head", "abc"], 2, "64 hexadecimal digits"],
    [["head", "/not/there"], 125, "there is no audit log /not/there"],
    [["verify", "/not/there"], 125, "there is no audit log /not/there"],
    [["show", "/not/there"], 125, "there is no audit log /not/there"],
  ] as const)("%j", (words, status, text) => {
    test(`exits with ${status} and says why`, () => {
      const done = audit(...words);
      expect(done.stderr).toContain(text);
      expect(done.stdout).toBe("");
      expect(done.status).toBe(status);
    });
  });

  test("a log that can't be had keeps the command from being run", () => {
    const done = command([...kCli, "run", "--audit-log", "/not/there/log", "--", "echo", "ran"]);
    expect(done).toMatchObject({ status: 125, stdout: "" });
    expect(done.stderr).toContain("the audit log /not/there/log.lock can't be opened");
  });
});
