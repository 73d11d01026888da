/** `native-runner audit`: reads audit logs. */

import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import type { AuditEntry } from "../../../types/audit-log.js";
import { readAuditLog } from "../../audit-log/read/entries.js";
import { lastLink } from "../../audit-log/read/head.js";
import { verifyAuditLog } from "../../audit-log/read/verify.js";
import { CliError, wantsColors, watchOutput } from "../terminal.js";
import { csvHead, csvLine } from "./csv.js";
import { type AuditFilter, isAskedFor } from "./filter.js";
import { htmlEnd, htmlEntry, htmlHead } from "./html.js";
import { otelLine } from "./otel.js";
import { showText } from "./show-text.js";
import { verifyText } from "./verify-text.js";

/** As commander hands them over. */
export type AuditVerifyOptions = { expectHead?: string; publicKey?: string; json?: boolean };
/** Of `show`. */
export type AuditShowOptions = AuditFilter & { limit: number; json?: boolean };
/** Of `export`. */
export type AuditExportOptions = AuditFilter & { format: "otel" | "csv" | "html"; output?: string };

/** Of `verify`, where something is amiss. */
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

/** `audit verify`: whether it is as it was written; exits with 1 where it is not. */
export async function auditVerify(path: string, options: AuditVerifyOptions): Promise<void> {
  watchOutput(() => {});
  const { expectHead, publicKey: file } = options;
  const publicKey = file === undefined ? undefined : await keyText(file);
  const found = await verifyAuditLog(path, { expectHead, publicKey });
  if (options.json) print(found);
  else process.stdout.write(verifyText(found, wantsColors(process.stdout)));
  if (!found.ok) process.exitCode = kChanged;
}

/** `audit head`: the hash to keep elsewhere. */
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

/** `audit show`: the last records that are asked for. */
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

/** `audit export`: for other programs, and for people without this one. */
export async function auditExport(path: string, options: AuditExportOptions): Promise<void> {
  watchOutput(() => {});
  const text = Readable.from(exported(path, options));
  if (options.output === undefined) await pipeline(text, process.stdout, { end: false });
  else await pipeline(text, createWriteStream(options.output, { mode: 0o600 }));
}
