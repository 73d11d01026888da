/** Whether what has to be signed is signed, and by the key. */

import type { KeyObject } from "node:crypto";

import type { AuditEntry } from "../../../types/audit-log.js";
import { isSignatureDue, isSigned, type Link } from "../chain.js";
import { fingerprintOf } from "../keys.js";
import type { Position, Problems } from "./problems.js";

/** Until a record `open` says otherwise, which is signed itself. */
const kSignEvery = 64;

/** Of one log, all its files. */
export class SignatureCheck {
  readonly #key: KeyObject;
  readonly #fingerprint: string;
  readonly #problems: Problems;
  #signEvery = kSignEvery;
  /** Records with a signature by the key. */
  signed = 0;
  /** Records since the last one. */
  since = 0;

  constructor(key: KeyObject, problems: Problems) {
    this.#key = key;
    this.#fingerprint = fingerprintOf(key);
    this.#problems = problems;
  }

  /** @param opened the record, where it is one of a log that was opened. */
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
