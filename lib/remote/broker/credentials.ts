/** Who a caller or a worker is to the broker. Messages never have a secret in them. */

import { invalidValue } from "../../errors.js";
import { expectFields } from "../../fields.js";
import { withRegularFile } from "../../regular-file.js";
import { expectText } from "./secret-text.js";

/** One of the forms that NATS has. */
export type BrokerCredentials =
  | { user: string; password: string }
  /** The seed of a user's nkey, "SU…". */
  | { nkeySeed: string }
  | { token: string }
  /** The path of a file with a user's nkey seed, or of one that `nsc` has made (".creds"). */
  | { file: string };

/** What of the client's package is used; it is loaded by whoever connects. */
export type NatsAuthenticators = Pick<
  typeof import("@nats-io/transport-node"),
  | "credsAuthenticator"
  | "nkeyAuthenticator"
  | "tokenAuthenticator"
  | "usernamePasswordAuthenticator"
>;

const kForms: readonly (readonly string[])[] = [
  ["user", "password"],
  ["nkeySeed"],
  ["token"],
  ["file"],
];
const kCredentialFields = Object.fromEntries(kForms.flat().map((name) => [name, true as const]));
/** The forms, for messages. */
export const kFormsText = "{ user, password }, { nkeySeed }, { token } or { file }";
const kSeed = /^SU[A-Z2-7]{56}$/;
const kMostFileBytes = 64 * 1024;
const kOthers = 0o007;

function expectSeed(seed: string, what: string): void {
  if (kSeed.test(seed)) return;
  throw invalidValue(`Expected ${what} to be the seed of a user's nkey ("SU" and 56 characters)`);
}

/** Without I/O. @throws TypeError that names the field, without any secret. */
export function readCredentials(credentials: unknown): BrokerCredentials {
  expectFields(credentials, "credentials", kCredentialFields);
  const given = credentials as Record<string, unknown>;
  const names = Object.keys(given).filter((name) => given[name] !== undefined);
  const form = kForms.find(
    (each) => each.length === names.length && each.every((name) => names.includes(name)),
  );
  if (form === undefined) {
    const got = names.length === 0 ? "none of them" : names.join(", ");
    throw invalidValue(`Expected \`credentials\` to be ${kFormsText}, got ${got}`);
  }
  for (const name of form) expectText(given[name], `credentials.${name}`);
  const copy = Object.fromEntries(form.map((name) => [name, given[name]])) as BrokerCredentials;
  if ("nkeySeed" in copy) expectSeed(copy.nkeySeed, "`credentials.nkeySeed`");
  return copy;
}

function readPrivate(path: string): Promise<{ bytes: Buffer; mode: number }> {
  return withRegularFile(path, kMostFileBytes, async (file) => {
    const { mode } = await file.stat();
    return { bytes: await file.readFile(), mode };
  });
}

async function fromFile(path: string, nats: NatsAuthenticators) {
  const naming = (reason: string, cause?: unknown) =>
    invalidValue(`the credentials in ${path} can't be used: ${reason}`, cause);
  const { bytes, mode } = await readPrivate(path).catch((cause) => {
    throw naming(cause instanceof Error ? cause.message : String(cause), cause);
  });
  if ((mode & kOthers) !== 0) throw naming(`every user can read or write it (chmod o= ${path})`);
  const text = bytes.toString("utf8");
  if (text.includes("-----BEGIN NATS USER JWT-----")) return nats.credsAuthenticator(bytes);
  const lines = text.split("\n").map((line) => line.trim());
  const seed = lines.find((line) => line !== "" && !line.startsWith("#")) ?? "";
  if (!kSeed.test(seed))
    throw naming("there is neither a user's nkey seed nor a .creds text in it");
  return nats.nkeyAuthenticator(new TextEncoder().encode(seed));
}

/**
 * What signs or says who the client is, for `connect`; a file is read now.
 *
 * @throws (rejects) TypeError that names the file where it can't be used.
 */
export async function authenticatorOf(credentials: BrokerCredentials, nats: NatsAuthenticators) {
  if ("file" in credentials) return fromFile(credentials.file, nats);
  if ("token" in credentials) return nats.tokenAuthenticator(credentials.token);
  if ("nkeySeed" in credentials) {
    return nats.nkeyAuthenticator(new TextEncoder().encode(credentials.nkeySeed));
  }
  return nats.usernamePasswordAuthenticator(credentials.user, credentials.password);
}
