/** Ed25519 keys, as callers and files have them. */

import { createHash, createPrivateKey, createPublicKey, KeyObject } from "node:crypto";

import { invalidType, invalidValue } from "../errors.js";

const kAsked = "an Ed25519 private key, as a KeyObject or PEM text";

function expectEd25519(key: KeyObject, field: string): KeyObject {
  if (key.asymmetricKeyType === "ed25519") return key;
  const type = key.asymmetricKeyType ?? key.type;
  throw invalidValue(`Expected \`${field}\` to be an Ed25519 key, got one of type ${type}`);
}

/** @throws TypeError for what is none. */
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

/** The public half of what is given. @throws TypeError, naming the field, for what is none of Ed25519. */
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

/** SHA-256 of a key's public half (SubjectPublicKeyInfo), in hexadecimal digits. */
export function fingerprintOf(key: KeyObject): string {
  const half = key.type === "private" ? createPublicKey(key) : key;
  return createHash("sha256")
    .update(half.export({ type: "spki", format: "der" }))
    .digest("hex");
}
