/** What makes a sandbox's programs trust a runner's authority, besides all that the host trusts. */

import { createHash } from "node:crypto";
import { access, readFile, realpath } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { rootCertificates } from "node:tls";

import type { NativeTrust } from "../../types/addon.js";

/** Where systems have the roots that programs trust, as one file. */
const kBundles = [
  "/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch, Gentoo
  "/etc/pki/tls/certs/ca-bundle.crt", // Fedora, RHEL
  "/etc/ssl/ca-bundle.pem", // openSUSE
  "/etc/ssl/cert.pem", // Alpine
] as const;
const kDirectory = "/run/openagentic";
/** All roots. */
const kAll = `${kDirectory}/ca-certificates.pem`;
/** Those that come to the ones that a program has itself. */
const kOwn = `${kDirectory}/ca-authority.pem`;

/** Variables of programs that look elsewhere than in the system's bundle. */
export const kTrustVariables: Readonly<Record<string, string>> = {
  SSL_CERT_FILE: kAll, // OpenSSL, and so Python, Ruby, uv; Go
  CURL_CA_BUNDLE: kAll,
  REQUESTS_CA_BUNDLE: kAll, // Python's requests
  PIP_CERT: kAll,
  GIT_SSL_CAINFO: kAll,
  CARGO_HTTP_CAINFO: kAll,
  AWS_CA_BUNDLE: kAll,
  NIX_SSL_CERT_FILE: kAll,
  HTTPLIB2_CA_CERTS: kAll,
  CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: kAll,
  NODE_EXTRA_CA_CERTS: kOwn, // Node, bun
  DENO_CERT: kOwn,
};

const textOf = (path: string | undefined) =>
  path === undefined || path === "" ? Promise.resolve("") : readFile(path, "utf8").catch(() => "");

const kJavaStore = "lib/security/cacerts";
const kJavaStores = ["/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts"];

/** Returns the stores in which the host's Java has its roots: it reads no PEM. */
async function javaStores({ JAVA_HOME = "", PATH = "" }: NodeJS.ProcessEnv): Promise<string[]> {
  const programs = PATH.split(delimiter).map((each) => join(each, "java"));
  const homes = await Promise.all(
    programs.map((each) =>
      realpath(each).then(
        (real) => dirname(dirname(real)),
        () => "",
      ),
    ),
  );
  const stores = [JAVA_HOME, ...homes].filter(isAbsolute).map((home) => join(home, kJavaStore));
  const all = [...new Set([...kJavaStores, ...stores])];
  const isThere = await Promise.all(
    all.map((each) =>
      access(each).then(
        () => true,
        () => false,
      ),
    ),
  );
  return all.filter((_, at) => isThere[at]);
}

const kStoreMagic = 0xfeedfeed;
const kStoreVersion = 2;
const kTrusted = 2;
/** Java's own default, by which it checks that the store is whole. */
const kStorePassword = "changeit";
const kStoreSalt = "Mighty Aphrodite";
const kPem = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/g;

function javaText(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function javaNumber(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The certificates of a PEM text: their base64, and themselves as written. */
const certificatesOf = (pem: string): [coded: string, text: string][] =>
  [...pem.matchAll(kPem)].map(([text, coded = ""]) => [coded.replace(/\s+/g, ""), text]);

/** Returns the certificates of `pem` that are in none of the others. */
function withoutThose(pem: string, others: readonly string[]): string {
  const known = new Set(others.flatMap(certificatesOf).map(([coded]) => coded));
  const own = new Map(certificatesOf(pem).filter(([coded]) => !known.has(coded)));
  return [...own.values()].join("\n");
}

/** Returns the certificates of a PEM text as a store of trusted certificates (JKS, version 2). */
export function javaStoreOf(pem: string): Uint8Array {
  const all = certificatesOf(pem).map(([coded]) => Buffer.from(coded, "base64"));
  const noDate = Buffer.alloc(8);
  const entries = all.flatMap((der, at) => [
    ...[javaNumber(kTrusted), javaText(`root${at}`), noDate, javaText("X.509")],
    ...[javaNumber(der.length), der],
  ]);
  const head = [kStoreMagic, kStoreVersion, all.length].map(javaNumber);
  const store = Buffer.concat([...head, ...entries]);
  const password = Buffer.from(kStorePassword, "utf16le").swap16();
  const digest = createHash("sha1").update(password).update(kStoreSalt).update(store).digest();
  return Buffer.concat([store, digest]);
}

/** The host's roots: the system's, and those that its variables add to Node's. */
export type HostRoots = {
  /** PEM texts. */
  system: string;
  added: string;
  /** Files in which Java has them. */
  javaStores: readonly string[];
};

/** Reads the host's roots; a file that is missing has none. */
export async function hostRoots(env: NodeJS.ProcessEnv = process.env): Promise<HostRoots> {
  const bundles = await Promise.all(kBundles.map(textOf));
  const added = await Promise.all([env.NODE_EXTRA_CA_CERTS, env.SSL_CERT_FILE].map(textOf));
  const system = bundles.find((text) => text !== "") ?? "";
  return {
    system,
    added: withoutThose(added.join("\n"), rootCertificates),
    javaStores: await javaStores(env),
  };
}

/** Returns the files of a sandbox. `pem`: the authority's certificate. */
export function trustFiles({ system, added, javaStores }: HostRoots, pem: string): NativeTrust {
  const own = `${added}\n${pem}`.trimStart();
  const all = `${system}\n${withoutThose(own, [system])}`.trimStart();
  const store = javaStores.length > 0 ? javaStoreOf(all) : "";
  return {
    files: [
      { path: kAll, text: all, isOwn: true },
      { path: kOwn, text: own, isOwn: true },
      ...kBundles.map((path) => ({ path, text: all })),
      ...javaStores.map((path) => ({ path, text: store })),
    ],
  };
}
