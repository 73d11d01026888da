/** The grammar of `native-runner audit`. Parsing only. */

import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { type Command, InvalidArgumentError, Option, type OutputConfiguration } from "commander";
import pc from "picocolors";

import type { AuditEntry, AuditKind, AuditVerification } from "../../types/audit-log.js";
import { readAuditLog } from "../audit-log/entries.js";
import { lastLink } from "../audit-log/tail.js";
import { verifyAuditLog } from "../audit-log/verify.js";
import { counted } from "../change-text.js";
import {
  csvHead,
  csvLine,
  htmlEnd,
  htmlEntry,
  htmlHead,
  otelLine,
  showText,
} from "./audit-entries.js";
import { CliError, wantsColors, watchOutput } from "./terminal.js";
import { count, file, parseDuration } from "./values.js";

/** The implementations of the commands. */
export type AuditActions = {
  auditVerify(path: string, options: AuditVerifyOptions): Promise<void>;
  auditHead(path: string, options: { json?: boolean }): Promise<void>;
  auditShow(path: string, options: AuditShowOptions): Promise<void>;
  auditExport(path: string, options: AuditExportOptions): Promise<void>;
};

const kKinds: Record<AuditKind, true> = {
  run: true,
  transaction: true,
  grant: true,
  session: true,
  template: true,
  policy: true,
  open: true,
  close: true,
  file: true,
  gap: true,
  recovered: true,
};

const kShown = 50;

function time(text: string): number {
  const parsed = parseTime(text, Date.now());
  if (!Number.isNaN(parsed)) return parsed;
  throw new InvalidArgumentError(
    "expected a time such as 2026-11-23T10:00Z, or how long ago, such as 2h",
  );
}

function kind(text: string, previous: AuditKind[] = []): AuditKind[] {
  if (Object.hasOwn(kKinds, text)) return [...previous, text as AuditKind];
  throw new InvalidArgumentError(`expected one of ${Object.keys(kKinds).join(", ")}`);
}

function withFilter(command: Command): Command {
  return command
    .option("--since <time>", "not before: 2026-11-23T10:00Z, or how long ago, such as 2h", time)
    .option("--until <time>", "before; as --since", time)
    .option("--kind <kind>", "this kind of record only; repeatable", kind)
    .addOption(
      new Option("--runner <name>", "runs under this runtime only").choices([
        "bubblewrap",
        "landlock",
        "firejail",
        "local",
      ]),
    )
    .option("--outcome <kind>", "with this outcome only: exited, timed-out, conflict and so on")
    .option("--path <path>", "records that name this path, or one below it");
}

/** Adds the commands. `say`: returns how parse errors are written, by the command's name. */
export function addAuditCommand(
  program: Command,
  actions: AuditActions,
  say: (name: string) => OutputConfiguration,
): void {
  const audit = program
    .command("audit")
    .description("audit logs, as --audit-log and the library's AuditLog write them")
    .usage("verify|show|head|export [options] PATH")
    .configureOutput(say("audit"))
    .addHelpText(
      "after",
      `
PATH is the file that is written; those that it has put aside, PATH.1 and so on, are read too.

A chain of hashes shows every change within it. It does not show that its end was cut off, nor that
all of it was written anew by somebody who can write the file: keep heads elsewhere, or sign it.

Exit codes: 0 done; 1 verify: it was changed, head: it has no record; 2 misuse; 125 it is not there.

Examples:
  $ native-runner audit verify audit.jsonl --expect-head "$(cat head.txt)"
  $ native-runner audit show audit.jsonl --since 2h --outcome timed-out
  $ native-runner audit export audit.jsonl --format html --output audit.html`,
    );
  const add = (name: string, description: string) =>
    audit
      .command(name)
      .description(description)
      .argument("<path>", "the log", file)
      .configureOutput(say(`audit ${name}`));
  add("verify", "tell whether it is as it was written")
    .option("--expect-head <hash>", "a head that was kept elsewhere: it has to be in it")
    .option("--public-key <file>", "the key's public half, in PEM: look at signatures too", file)
    .option("--json", "print JSON instead")
    .action(actions.auditVerify);
  add("head", "print the hash of the last record, to be kept elsewhere")
    .option("--json", "print JSON instead")
    .action(actions.auditHead);
  withFilter(add("show", "print the last records"))
    .option("--limit <n>", "how many", count, kShown)
    .option("--json", "print JSON instead")
    .action(actions.auditShow);
  withFilter(add("export", "write records for other programs, or as a page for people"))
    .addOption(
      new Option("--format <format>", "otel: OTLP in JSON; csv; html: one file, without a script")
        .choices(["otel", "csv", "html"])
        .makeOptionMandatory(),
    )
    .option("-o, --output <file>", "into this file instead of standard output", file)
    .action(actions.auditExport);
}

/** `native-runner audit`: reads audit logs. */

/** Options as commander passes them. */
type AuditVerifyOptions = { expectHead?: string; publicKey?: string; json?: boolean };
/** Options of `show`. */
type AuditShowOptions = AuditFilter & { limit: number; json?: boolean };
/** Options of `export`. */
type AuditExportOptions = AuditFilter & { format: "otel" | "csv" | "html"; output?: string };

/** Exit code of `verify` if a problem was found. */
const kChanged = 1;

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

async function keyText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`the public key can't be read: ${reason}`, 2);
  }
}

/** `audit verify`: checks that the log is unchanged; exits with 1 if it is not. */
export async function auditVerify(path: string, options: AuditVerifyOptions): Promise<void> {
  watchOutput(() => {});
  const { expectHead, publicKey: file } = options;
  const publicKey = file === undefined ? undefined : await keyText(file);
  const found = await verifyAuditLog(path, { expectHead, publicKey });
  if (options.json) print(found);
  else process.stdout.write(verifyText(found, wantsColors(process.stdout)));
  if (!found.ok) process.exitCode = kChanged;
}

/** `audit head`: prints the hash to store elsewhere. */
export async function auditHead(path: string, options: { json?: boolean }): Promise<void> {
  watchOutput(() => {});
  const last = lastLink(path);
  if (last === undefined) throw new CliError(`the audit log ${path} has no record`, kChanged);
  const { hash: head, seq, at } = last;
  if (options.json) print({ head, seq, at });
  else process.stdout.write(`${head}\n`);
}

async function* asked(path: string, filter: AuditFilter): AsyncGenerator<AuditEntry> {
  for await (const entry of readAuditLog(path)) if (isAskedFor(entry, filter)) yield entry;
}

/** `audit show`: shows the last matching records. */
export async function auditShow(path: string, options: AuditShowOptions): Promise<void> {
  watchOutput(() => {});
  const { limit, json, ...filter } = options;
  const entries: AuditEntry[] = [];
  let omitted = 0;
  for await (const entry of asked(path, filter)) {
    entries.push(entry);
    if (entries.length > limit) {
      entries.shift();
      omitted += 1;
    }
  }
  if (json) print({ entries, omitted });
  else {
    const colors = wantsColors(process.stdout);
    process.stdout.write(showText(entries, omitted, colors, process.stdout.columns));
  }
}

async function* exported(path: string, options: AuditExportOptions): AsyncGenerator<string> {
  const { format, output: _, ...filter } = options;
  if (format === "html") yield htmlHead(path, await verifyAuditLog(path));
  if (format === "csv") yield csvHead();
  const line = { html: htmlEntry, csv: csvLine, otel: otelLine }[format];
  for await (const entry of asked(path, filter)) yield line(entry);
  if (format === "html") yield htmlEnd();
}

/** `audit export`: exports records for other programs, and for people without this one. */
export async function auditExport(path: string, options: AuditExportOptions): Promise<void> {
  watchOutput(() => {});
  const text = Readable.from(exported(path, options));
  if (options.output === undefined) await pipeline(text, process.stdout, { end: false });
  else await pipeline(text, createWriteStream(options.output, { mode: 0o600 }));
}

/** Filters the records of a log. Pure. */

/** Parsed options as commander passes them; an omitted option does not filter. */
type AuditFilter = {
  /** Milliseconds since the epoch: earliest time. */
  since?: number;
  /** Milliseconds since the epoch: records before this time. */
  until?: number;
  kind?: AuditKind[];
  /** "bubblewrap", "landlock", "firejail" or "local". */
  runner?: string;
  /** Outcome of a run, or of an action on a transaction. */
  outcome?: string;
  /** A path that a record names, or a directory above such a path. */
  path?: string;
};

/** Parses a time in ISO 8601, or an age such as 2h; NaN if it is invalid. */
function parseTime(text: string, now: number): number {
  const ago = parseDuration(text);
  if (ago !== undefined && Number.isFinite(ago)) return now - ago;
  return /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
}

/** Returns the outcome of a run or a transaction; undefined for other kinds. */
export function outcomeOf({ kind, event }: AuditEntry): string | undefined {
  return kind === "run" || kind === "transaction" ? event.outcome : undefined;
}

function runtimeOf({ kind, event }: AuditEntry): string | undefined {
  return kind === "run" || kind === "policy" || kind === "template" ? event.runtime : undefined;
}

/** Yields all paths that a record names: committed paths, denied paths, words of a command, a directory. */
function* pathsOf({ kind, event }: AuditEntry): Generator<string> {
  if (kind === "transaction") {
    for (const { path, from } of event.committed ?? []) {
      yield path;
      if (from !== undefined) yield from;
    }
    yield* event.paths ?? [];
  }
  if (kind === "run") {
    for (const { path } of event.denials ?? []) if (path !== undefined) yield path;
    yield* event.argv;
    if (event.cwd !== undefined) yield event.cwd;
  }
  if (kind === "grant") yield JSON.stringify(event.value);
}

const plain = (path: string) => path.replace(/^(\.\/)+/, "").replace(/(.)\/+$/, "$1");

function names(entry: AuditEntry, path: string): boolean {
  const asked = plain(path);
  const below = asked === "/" ? asked : `${asked}/`;
  for (const named of pathsOf(entry)) {
    const one = plain(named);
    if (one === asked || one.startsWith(below)) return true;
    if (entry.kind === "grant" && named.includes(asked)) return true;
  }
  return false;
}

/** True if a record matches the filter. */
function isAskedFor(entry: AuditEntry, filter: AuditFilter): boolean {
  const { since, until, kind, runner, outcome, path } = filter;
  const at = Date.parse(entry.at);
  if (since !== undefined && !(at >= since)) return false;
  if (until !== undefined && !(at < until)) return false;
  if (kind !== undefined && !kind.includes(entry.kind)) return false;
  if (runner !== undefined && runtimeOf(entry) !== runner) return false;
  if (outcome !== undefined && outcomeOf(entry) !== outcome) return false;
  return path === undefined || names(entry, path);
}

/** Formats the result of a verification for people. Pure. */

const kUnproved =
  "A chain alone shows neither that its end was cut off nor that all of it was written anew:\n" +
  "keep a head elsewhere (--expect-head), or sign it (--public-key).";

/** Ends with a newline. */
function verifyText(found: AuditVerification, useColors: boolean): string {
  const colors = pc.createColors(useColors);
  const { files, records, head, afterExpectedHead, signed, unsignedAtEnd, lost, recovered } = found;
  const lines = [
    found.ok ? colors.green("the log is as it was written") : colors.red("the log was changed"),
    `${counted(records, "record")} in ${counted(files.length, "file")}`,
    head === null ? "it has no record" : `head ${head}`,
  ];
  if (afterExpectedHead !== null) {
    lines.push(
      `the expected head is in it, ${counted(afterExpectedHead, "record")} before the end`,
    );
  }
  if (signed !== null) {
    lines.push(
      `${counted(signed, "signature")} by the key; ${counted(unsignedAtEnd ?? 0, "record")} behind the last`,
    );
  }
  if (lost > 0)
    lines.push(`${counted(lost, "record")} could not be written, as the log itself says`);
  if (recovered > 0)
    lines.push(`${counted(recovered, "torn line")} cut off, as the log itself says`);
  for (const { file, line, kind, message } of found.problems) {
    lines.push(`${colors.red(kind)} ${file}:${line}: ${message}`);
  }
  if (found.problemsOmitted > 0) lines.push(`and ${found.problemsOmitted} more`);
  if (found.ok && afterExpectedHead === null && signed === null) lines.push(colors.dim(kUnproved));
  return `${lines.join("\n")}\n`;
}
