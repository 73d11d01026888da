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

/** The public key of PEM text; of a private one, its public half. @throws TypeError for what is none. */
export function publicKeyOf(pem: string, field: string): KeyObject {
  let read: KeyObject;
  try {
    read = createPublicKey(pem);
  } catch (cause) {
    throw invalidValue(`Expected \`${field}\` to have an Ed25519 public key in PEM`, cause);
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
