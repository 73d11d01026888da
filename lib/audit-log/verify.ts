import type { KeyObject } from "node:crypto";
import { basename } from "node:path";

import type {
  AuditEntry,
  AuditKind,
  AuditProblem,
  AuditVerification,
  VerifyOptions,
} from "../../types/audit-log.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import {
  fingerprintOf,
  isSignatureDue,
  isSigned,
  kGenesis,
  type Link,
  linkOf,
  publicKeyOf,
} from "./chain.js";
import { readLines } from "./entries.js";
import { logFiles } from "./files.js";

const kOptions: FieldsOf<VerifyOptions> = { expectHead: true, publicKey: true };

/** Kinds of records whose event is read too. */
const kReportedKinds: ReadonlySet<AuditKind> = new Set(["open", "file", "gap", "recovered"]);

function checkedHead(head: unknown): string | undefined {
  if (head === undefined) return undefined;
  if (typeof head !== "string") throw invalidType("expectHead", "a hash", head);
  if (/^[0-9a-f]{64}$/.test(head)) return head;
  throw invalidValue(`Expected \`expectHead\` to be 64 hexadecimal digits, got ${head}`);
}

function reported(link: Link, line: Buffer): AuditEntry | undefined {
  if (!kReportedKinds.has(link.kind)) return undefined;
  try {
    return JSON.parse(line.toString()) as AuditEntry;
  } catch {
    return undefined; // only the log's writer could chain a line that is no JSON; ignore its event
  }
}

/** One verification of a log. */
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
    const entry = reported(link, line);
    this.#chain.take(link, at, this.#missingFile(entry));
    this.#signatures?.take(link, at, entry?.kind === "open" ? entry : undefined);
    if (entry?.kind === "gap") this.#lost += entry.event.lost;
    if (entry?.kind === "recovered") this.#recovered += 1;
    this.#records += 1;
    this.#head = link.hash;
    if (link.hash === this.#expected) this.#after = 0;
    else if (this.#after !== null) this.#after += 1;
  }

  /** Returns the name of the previous file, if this record begins a file and the previous one does not exist. */
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
 * Reads a log with all its rotated files, and checks that they are as they were written. Takes no lock, changes
 * nothing, and holds a few lines at a time, whatever the log's length.
 *
 * Limits: without a key, a user who can write the file can replace all of it; and its end can be cut off. Pass a `head`
 * that was kept elsewhere, or the public key, or both.
 *
 * @throws (rejects) TypeError on a wrong option; AuditLogError ERR_AUDIT_LOG_MISSING if the log does not exist; Node's
 * fs errors if it can't be read
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

/**
 * Derives from the order of records how a log was modified. It remembers the previous line and earlier problems, so
 * that later lines can show if a line was inserted, removed or replaced.
 */

/** The expected next record. `prev` is undefined if the previous line is damaged, so that its hash is not known. */
type Place = { seq: number; prev: string | undefined };

type Last = {
  at: Position;
  hash: string | undefined;
  /** The record expected in its place. */
  place: Place;
  problem: AuditProblem | undefined;
};

/** Most remembered problems. Beyond it, problems are reported, but moved lines are no longer recognised. */
const kMostRemembered = 10_000;

const fits = ({ seq, prev }: Link, place: Place): boolean =>
  seq === place.seq && (place.prev === undefined || prev === place.prev);

const counted = (count: number) => (count === 1 ? "a record is" : `${count} records are`);

function remember(map: Map<string, AuditProblem>, hash: string, problem: AuditProblem): void {
  if (map.size < kMostRemembered) map.set(hash, problem);
}

/** Checks the chain of one log over all its files. */
class ChainCheck {
  readonly #problems: Problems;
  #next: Place = { seq: 0, prev: kGenesis };
  #last: Last | undefined;
  /** Extra lines by hash: if one is missing later, it was moved there. */
  readonly #strays = new Map<string, AuditProblem>();
  /** Missing records, by the hash of the last one. */
  readonly #gaps = new Map<string, AuditProblem>();

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** Records a line that is malformed, or whose bytes do not match its hash. */
  broken(kind: "changed" | "damaged", at: Position): void {
    const message =
      kind === "damaged" ? "this line is no record" : "this line was changed: it is not its hash's";
    const problem = this.#problems.add(kind, at, message);
    this.#last = { at, hash: undefined, place: this.#next, problem };
    this.#next = { seq: this.#next.seq + 1, prev: undefined };
  }

  /** @param previous the name of a missing previous file, if this record begins a file */
  take(link: Link, at: Position, previous: string | undefined): void {
    const place = this.#next;
    if (fits(link, place)) this.#advance(link, at, place, undefined);
    else if (this.#gaps.has(link.hash)) this.#cameLate(link, at);
    else if (this.#last !== undefined && fits(link, this.#last.place)) {
      this.#lastWasInserted(this.#last);
      this.#advance(link, at, this.#last.place, undefined);
    } else if (link.seq > place.seq) this.#missing(link, at, previous);
    else if (link.seq === place.seq) {
      const message = "the line before this one is not the record that it was chained to";
      this.#advance(link, at, place, this.#problems.add("rewritten", at, message));
    } else {
      const message = `record ${link.seq} does not belong here: ${place.seq} was due`;
      const problem = this.#problems.add("inserted", at, message);
      remember(this.#strays, link.hash, problem);
      this.#last = { at, hash: link.hash, place, problem };
    }
  }

  #advance(link: Link, at: Position, place: Place, problem: AuditProblem | undefined): void {
    this.#last = { at, hash: link.hash, place, problem };
    this.#next = { seq: link.seq + 1, prev: link.hash };
  }

  #cameLate(link: Link, at: Position): void {
    const problem = this.#gaps.get(link.hash);
    this.#gaps.delete(link.hash);
    if (problem === undefined) return;
    Problems.become(problem, "moved", at, `record ${link.seq} stands here, and belongs further up`);
  }

  #lastWasInserted({ at, hash, problem }: Last): void {
    const message = "this line was inserted: the records before and after it are each other's";
    if (problem !== undefined) Problems.become(problem, "inserted", at, message);
    const own = problem ?? this.#problems.add("inserted", at, message);
    if (hash !== undefined) remember(this.#strays, hash, own);
  }

  #missing(link: Link, at: Position, previous: string | undefined): void {
    const place = this.#next;
    const stray = this.#strays.get(link.prev);
    if (stray !== undefined && link.seq === place.seq + 1) {
      const message = `record ${place.seq} stands here, and belongs further down`;
      Problems.become(stray, "moved", stray, message);
      this.#advance(link, at, place, undefined);
      return;
    }
    const count = link.seq - place.seq;
    const what = count === 1 ? `record ${place.seq}` : `records ${place.seq} to ${link.seq - 1}`;
    const problem =
      previous === undefined
        ? this.#problems.add("deleted", at, `${counted(count)} missing before this one: ${what}`)
        : this.#problems.add(
            "missing-file",
            at,
            `the file before this one, ${previous}, is missing`,
          );
    remember(this.#gaps, link.prev, problem);
    this.#advance(link, at, place, problem);
  }
}

/** Checks that records are signed where required, and with the key. */

/** Default until an `open` record, which is itself signed, states another value. */
const kSignEvery = 64;

/** Checks the signatures of one log over all its files. */
class SignatureCheck {
  readonly #key: KeyObject;
  readonly #fingerprint: string;
  readonly #problems: Problems;
  #signEvery = kSignEvery;
  /** Records with a valid signature. */
  signed = 0;
  /** Records since the last valid signature. */
  since = 0;

  constructor(key: KeyObject, problems: Problems) {
    this.#key = key;
    this.#fingerprint = fingerprintOf(key);
    this.#problems = problems;
  }

  /** @param opened the record, if it is of kind `open` */
  take(link: Link, at: Position, opened: AuditEntry<"open"> | undefined): void {
    if (opened !== undefined) this.#opened(opened, at);
    this.since += 1;
    if (link.sig !== undefined) {
      if (isSigned(link, this.#key)) {
        this.signed += 1;
        this.since = 0;
      } else this.#problems.add("signature", at, "the signature of this record is not by this key");
    } else if (isSignatureDue(link.kind, link.seq, this.#signEvery)) {
      this.#problems.add("unsigned", at, "this record has no signature, and should have one");
    }
  }

  #opened({ event }: AuditEntry<"open">, at: Position): void {
    this.#signEvery = event.signEvery;
    if (event.publicKey === this.#fingerprint || event.publicKey === null) return; // null: unsigned
    this.#problems.add("signature", at, "from here on the log was signed with another key");
  }
}

/** Problems found in a log: the first ones, and how many more exist. */

/** Position of a line. */
type Position = { file: string; line: number };

const kMost = 100;

/** A list of problems; later lines may change the kind of an earlier problem. */
class Problems {
  readonly found: AuditProblem[] = [];
  omitted = 0;

  add(kind: AuditProblem["kind"], at: Position, message: string): AuditProblem {
    const problem = { kind, file: at.file, line: at.line, message };
    if (this.found.length < kMost) this.found.push(problem);
    else this.omitted += 1;
    return problem;
  }

  /** Changes a problem to another kind. */
  static become(
    problem: AuditProblem,
    kind: AuditProblem["kind"],
    at: Position,
    message: string,
  ): void {
    Object.assign(problem, { kind, file: at.file, line: at.line, message });
  }
}
