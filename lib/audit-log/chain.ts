/**
 * The format of a record: one line of JSON whose last fields are the hash of the preceding bytes and, for some records,
 * a signature of that hash. Hashing the bytes as written avoids the need for a canonical form of JSON. Pure.
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  KeyObject,
  sign,
  verify,
} from "node:crypto";

import type { AuditKind } from "../../types/audit-log.js";
import { invalidType, invalidValue } from "../errors.js";

/** The previous hash in the first record of a log. */
export const kGenesis = "0".repeat(64);

const kDomain = "native-runner/audit/1\n";
const kSignatureDomain = "native-runner/audit/1/signature\n";
const kHashBegin = ',"hash":"';
const kHashBytes = kHashBegin.length + 64 + 2; // including `"}`
const kSignatureBegin = '","sig":"';
const kSignatureBytes = kSignatureBegin.length + 88; // 64 bytes in base64

export const hashOf = (body: string | Buffer): string =>
  createHash("sha256").update(kDomain).update(body).digest("hex");

const signedBytes = (hash: string) => Buffer.from(kSignatureDomain + hash);

const kSignedKinds: ReadonlySet<AuditKind> = new Set(["open", "close", "file", "gap", "recovered"]);

/** True if a log with a key signs this record; see `AuditLogOptions.signEvery`. */
export const isSignatureDue = (kind: AuditKind, seq: number, signEvery: number): boolean =>
  kSignedKinds.has(kind) || (seq + 1) % signEvery === 0;

/** A record without its hash. */
export type Unsealed = {
  seq: number;
  prev: string;
  at: string;
  kind: AuditKind;
  /** JSON. */
  event: string;
};

/** Returns the line of a record without its line feed, and its hash. */
export function seal(
  { seq, prev, at, kind, event }: Unsealed,
  key?: KeyObject,
): { line: string; hash: string } {
  const body = `{"v":1,"seq":${seq},"prev":"${prev}","at":"${at}","kind":"${kind}","event":${event}`;
  const hash = hashOf(`${body}}`);
  const sealed = `${body}${kHashBegin}${hash}`;
  if (key === undefined) return { line: `${sealed}"}`, hash };
  const signature = sign(null, signedBytes(hash), key).toString("base64");
  return { line: `${sealed}${kSignatureBegin}${signature}"}`, hash };
}

/** The fields of a line. Its hash is the one written in it, which may differ from the hash of its bytes. */
export type Link = {
  seq: number;
  prev: string;
  at: string;
  kind: AuditKind;
  hash: string;
  sig: string | undefined;
  /** True if the written hash is that of the line's bytes. */
  isWhole: boolean;
};

const kHead =
  /^\{"v":1,"seq":(\d{1,15}),"prev":"([0-9a-f]{64})","at":"([^"\\]{20,30})","kind":"([a-z]{1,20})","event":/;
const kTail = /,"hash":"([0-9a-f]{64})"(?:,"sig":"([A-Za-z0-9+/]{86}==)")?\}$/;
const kMostHead = 256;
const kClosing = Buffer.from("}");

/** Parses a line without its line feed; undefined if it is malformed. */
export function linkOf(line: Buffer): Link | undefined {
  const head = kHead.exec(line.toString("latin1", 0, kMostHead));
  const from = Math.max(0, line.length - kHashBytes - kSignatureBytes);
  const tail = kTail.exec(line.toString("latin1", from));
  if (head === null || tail === null) return undefined;
  const [, seq, prev, at, kind] = head as unknown as [string, string, string, string, AuditKind];
  const [ending, hash, sig] = tail as unknown as [string, string, string | undefined];
  const body = line.subarray(0, line.length - ending.length);
  const own = createHash("sha256").update(kDomain).update(body).update(kClosing).digest("hex");
  return { seq: Number(seq), prev, at, kind, hash, sig, isWhole: own === hash };
}

export function isSigned(link: Link, key: KeyObject): boolean {
  if (link.sig === undefined) return false;
  const signature = Buffer.from(link.sig, "base64");
  // The last digit of base64 has unused bits, which must be 0 (RFC 4648, 3.5).
  if (signature.toString("base64") !== link.sig) return false;
  return verify(null, signedBytes(link.hash), key, signature);
}

/** Ed25519 keys, as given by callers and files. */

const kAsked = "an Ed25519 private key, as a KeyObject or PEM text";

function expectEd25519(key: KeyObject, field: string): KeyObject {
  if (key.asymmetricKeyType === "ed25519") return key;
  const type = key.asymmetricKeyType ?? key.type;
  throw invalidValue(`Expected \`${field}\` to be an Ed25519 key, got one of type ${type}`);
}

/** @throws TypeError unless the value is an Ed25519 private key */
export function privateKeyOf(key: unknown): KeyObject {
  if (key instanceof KeyObject) {
    if (key.type === "private") return expectEd25519(key, "key");
    throw invalidValue(`Expected \`key\` to be ${kAsked}, got a ${key.type} key`);
  }
  if (typeof key !== "string") throw invalidType("key", kAsked, key);
  let read: KeyObject;
  try {
    read = createPrivateKey(key);
  } catch (cause) {
    throw invalidValue(`Expected \`key\` to be ${kAsked}: this text is no private key`, cause);
  }
  return expectEd25519(read, "key");
}

/**
 * Returns the public half of a key.
 * @throws TypeError that names the field, unless the value is an Ed25519 key
 */
export function publicKeyOf(given: unknown, field: string): KeyObject {
  if (given instanceof KeyObject) {
    const half = given.type === "private" ? createPublicKey(given) : given;
    return expectEd25519(half, field);
  }
  const asked = "an Ed25519 public key, as a KeyObject or PEM text";
  if (typeof given !== "string") throw invalidType(field, asked, given);
  let read: KeyObject;
  try {
    read = createPublicKey(given);
  } catch (cause) {
    throw invalidValue(`Expected \`${field}\` to be ${asked}: this text is none`, cause);
  }
  return expectEd25519(read, field);
}

/** Returns the SHA-256 of a key's public half (SubjectPublicKeyInfo), in hexadecimal digits. */
export function fingerprintOf(key: KeyObject): string {
  const half = key.type === "private" ? createPublicKey(key) : key;
  return createHash("sha256")
    .update(half.export({ type: "spki", format: "der" }))
    .digest("hex");
}
