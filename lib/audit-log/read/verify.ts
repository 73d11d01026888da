import type { KeyObject } from "node:crypto";
import { basename } from "node:path";

import type {
  AuditEntry,
  AuditKind,
  AuditVerification,
  VerifyOptions,
} from "../../../types/audit-log.js";
import { invalidType, invalidValue } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { type Link, linkOf } from "../chain.js";
import { publicKeyOf } from "../keys.js";
import { ChainCheck } from "./chain-check.js";
import { readLines } from "./lines.js";
import { logFiles } from "./log-files.js";
import { type Position, Problems } from "./problems.js";
import { SignatureCheck } from "./signature-check.js";

const kOptions: FieldsOf<VerifyOptions> = { expectHead: true, publicKey: true };

/** What is read of, besides its link. */
const kToldKinds: ReadonlySet<AuditKind> = new Set(["open", "file", "gap", "recovered"]);

function checkedHead(head: unknown): string | undefined {
  if (head === undefined) return undefined;
  if (typeof head !== "string") throw invalidType("expectHead", "a hash", head);
  if (/^[0-9a-f]{64}$/.test(head)) return head;
  throw invalidValue(`Expected \`expectHead\` to be 64 hexadecimal digits, got ${head}`);
}

function told(link: Link, line: Buffer): AuditEntry | undefined {
  if (!kToldKinds.has(link.kind)) return undefined;
  try {
    return JSON.parse(line.toString()) as AuditEntry;
  } catch {
    return undefined; // who can chain a line that is no JSON is told of by nobody
  }
}

/** One look at a log. */
class Verification {
  readonly #problems = new Problems();
  readonly #chain = new ChainCheck(this.#problems);
  readonly #signatures: SignatureCheck | undefined;
  readonly #files: readonly string[];
  readonly #names: ReadonlySet<string>;
  readonly #expected: string | undefined;
  #records = 0;
  #head: string | null = null;
  #after: number | null = null;
  #lost = 0;
  #recovered = 0;

  constructor(files: readonly string[], expected: string | undefined, key: KeyObject | undefined) {
    this.#files = files;
    this.#names = new Set(files.map((file) => basename(file)));
    this.#expected = expected;
    this.#signatures = key && new SignatureCheck(key, this.#problems);
  }

  take(line: Buffer, at: Position): void {
    const link = linkOf(line);
    if (link === undefined || !link.isWhole) {
      this.#chain.broken(link === undefined ? "damaged" : "changed", at);
      return;
    }
    const entry = told(link, line);
    this.#chain.take(link, at, this.#missingFile(entry));
    this.#signatures?.take(link, at, entry?.kind === "open" ? entry : undefined);
    if (entry?.kind === "gap") this.#lost += entry.event.lost;
    if (entry?.kind === "recovered") this.#recovered += 1;
    this.#records += 1;
    this.#head = link.hash;
    if (link.hash === this.#expected) this.#after = 0;
    else if (this.#after !== null) this.#after += 1;
  }

  /** The file before, where the record begins one and that is not there. */
  #missingFile(entry: AuditEntry | undefined): string | undefined {
    if (entry?.kind !== "file" || this.#names.has(entry.event.previous)) return undefined;
    return entry.event.previous;
  }

  torn(at: Position): void {
    const message = "the last line has no end: its writer has died, or writes it now";
    this.#problems.add("torn", at, message);
  }

  end(at: Position): AuditVerification {
    if (this.#expected !== undefined && this.#after === null) {
      const message =
        "the expected head is not in it: its end was cut off, or all was written anew";
      this.#problems.add("truncated", at, message);
    }
    const { found, omitted } = this.#problems;
    return {
      ok: found.length === 0,
      files: [...this.#files],
      records: this.#records,
      head: this.#head,
      afterExpectedHead: this.#after,
      signed: this.#signatures?.signed ?? null,
      unsignedAtEnd: this.#signatures?.since ?? null,
      lost: this.#lost,
      recovered: this.#recovered,
      problems: found,
      problemsOmitted: omitted,
    };
  }
}

/**
 * Reads a log and all files that it has put aside, and tells whether they are as they were written. Takes no
 * lock, changes nothing, and holds a few lines at once, whatever its length.
 *
 * What it can't prove: who can write the file can write it anew as a whole, if there is no key; and the end can be
 * cut off. So give it a `head` that was kept elsewhere, or the public key, or both.
 *
 * @throws (rejects) TypeError on a wrong option; AuditLogError ERR_AUDIT_LOG_MISSING where there is none; as
 * Node's fs where it can't be read.
 */
export async function verifyAuditLog(
  path: string,
  options: VerifyOptions = {},
): Promise<AuditVerification> {
  expectFields(options, "options", kOptions);
  if (typeof path !== "string") throw invalidType("path", "a path", path);
  const { publicKey } = options;
  const key = publicKey === undefined ? undefined : publicKeyOf(publicKey, "publicKey");
  const expected = checkedHead(options.expectHead);
  const files = logFiles(path);
  const verification = new Verification(files, expected, key);
  let at: Position = { file: basename(path), line: 0 };
  for (const file of files) {
    at = { file: basename(file), line: 0 };
    for await (const { lines, isTorn } of readLines(file)) {
      for (const line of lines) {
        at = { file: at.file, line: at.line + 1 };
        if (isTorn) verification.torn(at);
        else verification.take(line, at);
      }
    }
  }
  return verification.end(at);
}
