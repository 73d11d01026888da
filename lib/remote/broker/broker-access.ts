/**
 * Access to a broker: TLS and credentials are required, so that connections are private and authenticated. A broker on
 * this machine may do without them if `insecure` is set.
 */

import { BlockList, isIP } from "node:net";

import type { ConnectionOptions } from "@nats-io/transport-node";

import { invalidType, invalidValue } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { withRegularFile } from "../../regular-file.js";

/** Options for reaching a broker. */
export type BrokerOptions = {
  /**
   * 1 to 64 URLs, "tls://HOST[:PORT]" or "nats://HOST[:PORT]". With TLS a host must be a name, against which the
   * server's certificate is checked.
   */
  servers: readonly string[];
  /** Required unless `insecure` is set. */
  credentials?: BrokerCredentials | undefined;
  /** Also makes "nats://" URLs use TLS only. */
  tls?: BrokerTls | undefined;
  /**
   * Makes TLS and credentials optional. Only for servers of this machine: 127.0.0.0/8, ::1 and localhost. Commands with
   * `network: "allow"` reach such a broker, too. Default false.
   */
  insecure?: boolean | undefined;
};

type Read = {
  servers: readonly BrokerServer[];
  credentials: BrokerCredentials | undefined;
  tls: BrokerTls | undefined;
};

function expectSecure({ servers, credentials, tls }: Read): void {
  for (const [at, { url, isTls, hostname }] of servers.entries()) {
    if (!isTls && tls === undefined) {
      const ways = isLoopback(hostname) ? ", or `insecure: true` for this machine" : "";
      throw invalidValue(
        `Expected \`servers[${at}]\` to be reached by TLS ("tls://…", or \`tls\`${ways}), got "${url}"`,
      );
    }
    if (/^[\d.]+$|:/.test(hostname)) {
      const why = "the server's certificate is checked by it";
      throw invalidValue(`Expected \`servers[${at}]\` to have a name (${why}), got "${url}"`);
    }
  }
  if (credentials === undefined) {
    throw invalidValue(`Expected \`credentials\` to be ${kFormsText}, got none`);
  }
}

function expectInsecure({ servers, tls }: Read): void {
  const isOwn = "`insecure` is for servers of this machine alone (127.0.0.0/8, ::1, localhost)";
  const at = servers.findIndex(({ hostname }) => !isLoopback(hostname));
  const other = servers[at];
  if (other !== undefined) throw invalidValue(`${isOwn}, got \`servers[${at}]\` "${other.url}"`);
  const secure = servers.findIndex(({ isTls }) => isTls);
  if (secure >= 0 || tls !== undefined) {
    const what = secure >= 0 ? `\`servers[${secure}]\` has "tls://"` : "there is `tls`";
    throw invalidValue(`Expected \`insecure\` to be left out, since ${what}`);
  }
}

/** Checked options. Printing the object shows no secret. */
export class BrokerAccess {
  readonly servers: readonly BrokerServer[];
  readonly insecure: boolean;
  readonly #credentials: BrokerCredentials | undefined;
  readonly #tls: BrokerTls | undefined;

  /**
   * Reads the broker's fields among the options of a caller or a worker, and ignores other fields. No I/O.
   *
   * @throws TypeError with a code that names the field, without any secret
   */
  constructor(options: BrokerOptions) {
    const { insecure = false } = options;
    if (typeof insecure !== "boolean") throw invalidType("insecure", "a boolean", insecure);
    const servers = readServers(options.servers);
    const credentials =
      options.credentials === undefined ? undefined : readCredentials(options.credentials);
    const tls = options.tls === undefined ? undefined : readTls(options.tls);
    const read = { servers, credentials, tls };
    if (insecure) expectInsecure(read);
    else expectSecure(read);
    this.servers = servers;
    this.insecure = insecure;
    this.#credentials = credentials;
    this.#tls = tls;
  }

  /**
   * Returns the options of NATS' `connect` for servers, TLS and credentials; a credentials file is read now.
   *
   * @param nats the client's package, an optional peer
   * @throws (rejects) TypeError that names the credentials file if it can't be used
   */
  async connectionOptions(nats: NatsAuthenticators): Promise<ConnectionOptions> {
    const { ca, cert, key } = this.#tls ?? {};
    const certificates = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
    const credentials = this.#credentials;
    return {
      servers: this.servers.map(({ url }) => url),
      // With an object the client refuses a server without TLS; the client ignores "tls://".
      tls: this.insecure ? null : certificates,
      ...(credentials && { authenticator: await authenticatorOf(credentials, nats) }),
      // A server may announce others, which are not on this machine.
      ...(this.insecure && { ignoreClusterUpdates: true }),
    };
  }
}

/** Addresses of a broker, and which of them belong to this machine. */

/** One server. */
type BrokerServer = {
  /** The URL as given. */
  url: string;
  /** True if the URL requires TLS. */
  isTls: boolean;
  /** A name or an address, without brackets. */
  hostname: string;
};

const kMostServers = 64;
const kWanted = 'a URL such as "tls://broker.test:4222" or "nats://127.0.0.1:4222"';

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** True if only this machine can be reached by the name or address. */
export function isLoopback(hostname: string): boolean {
  const family = isIP(hostname);
  if (family === 0) return hostname === "localhost";
  return loopback.check(hostname, family === 4 ? "ipv4" : "ipv6");
}

function readServer(url: unknown, field: string): BrokerServer {
  if (typeof url !== "string") throw invalidType(field, "a string", url);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // Shown without credentials.
  const shown = url.replace(/\/\/.*@/s, "//…@").slice(0, 200);
  if (parsed !== undefined && (parsed.username !== "" || parsed.password !== "")) {
    const fix = "they belong into `credentials`, since URLs are shown in messages";
    throw invalidValue(
      `Expected \`${field}\` to have no credentials in it (${fix}), got "${shown}"`,
    );
  }
  const isKnown = parsed?.protocol === "tls:" || parsed?.protocol === "nats:";
  const isBare = ["", "/"].includes(parsed?.pathname ?? "?") && !/[?#\s]/.test(url);
  if (!isKnown || !isBare || parsed.hostname === "") {
    throw invalidValue(`Expected \`${field}\` to be ${kWanted}, got "${shown}"`);
  }
  const hostname = parsed.hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return { url, isTls: parsed.protocol === "tls:", hostname };
}

/** @throws TypeError that names the server */
function readServers(servers: unknown): BrokerServer[] {
  if (!Array.isArray(servers)) throw invalidType("servers", "an array of URLs", servers);
  if (servers.length === 0 || servers.length > kMostServers) {
    throw invalidValue(
      `Expected \`servers\` to have 1 to ${kMostServers} URLs, got ${servers.length}`,
    );
  }
  return servers.map((url: unknown, at) => readServer(url, `servers[${at}]`));
}

/** Credentials of a caller or a worker for the broker. Messages never contain a secret. */

/** One of the forms that NATS supports. */
type BrokerCredentials =
  | { user: string; password: string }
  /** The seed of a user's nkey, "SU…". */
  | { nkeySeed: string }
  | { token: string }
  /** The path of a file with a user's nkey seed, or of one made by `nsc` (".creds"). */
  | { file: string };

/** The functions of the client's package that are used; the code that connects loads it. */
type NatsAuthenticators = Pick<
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
const kFormsText = "{ user, password }, { nkeySeed }, { token } or { file }";
const kSeed = /^SU[A-Z2-7]{56}$/;
const kMostFileBytes = 64 * 1024;
const kOthers = 0o007;

function expectSeed(seed: string, what: string): void {
  if (kSeed.test(seed)) return;
  throw invalidValue(`Expected ${what} to be the seed of a user's nkey ("SU" and 56 characters)`);
}

/**
 * Checks credentials, without I/O.
 * @throws TypeError that names the field, without any secret
 */
function readCredentials(credentials: unknown): BrokerCredentials {
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
 * Returns the authenticator for `connect`; a file is read now.
 *
 * @throws (rejects) TypeError that names the file if it can't be used
 */
async function authenticatorOf(credentials: BrokerCredentials, nats: NatsAuthenticators) {
  if ("file" in credentials) return fromFile(credentials.file, nats);
  if ("token" in credentials) return nats.tokenAuthenticator(credentials.token);
  if ("nkeySeed" in credentials) {
    return nats.nkeyAuthenticator(new TextEncoder().encode(credentials.nkeySeed));
  }
  return nats.usernamePasswordAuthenticator(credentials.user, credentials.password);
}

/** Certificates, as text. */

/** Each field is PEM text. */
type BrokerTls = {
  /** Certificates of authorities that may have signed the server's. Default: those that Node trusts. */
  ca?: string | undefined;
  /** Certificate of this client, for servers that require one; with `key`. */
  cert?: string | undefined;
  /** Private key of `cert`. */
  key?: string | undefined;
};

const kFields: FieldsOf<BrokerTls> = { ca: true, cert: true, key: true };
const kPem = /^\s*-----BEGIN [A-Z0-9 ]+-----\s/m;

/** @throws TypeError that names the field, without any secret */
function readTls(tls: unknown): BrokerTls {
  expectFields(tls, "tls", kFields);
  const { ca, cert, key } = tls as BrokerTls;
  for (const [name, value] of Object.entries({ ca, cert, key })) {
    if (value === undefined) continue;
    expectText(value, `tls.${name}`);
    if (!kPem.test(value)) {
      throw invalidValue(`Expected \`tls.${name}\` to be PEM text ("-----BEGIN …"), not a path`);
    }
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw invalidValue("Expected `tls.cert` and `tls.key` to be given together");
  }
  return { ca, cert, key };
}

/**
 * Asserts that a value is a text that is not empty. An error shows only its type, since it may be a secret.
 *
 * @throws TypeError that names the field
 */
function expectText(value: unknown, field: string): asserts value is string {
  if (typeof value !== "string") throw invalidType(field, "a string", typeof value);
  if (value === "" || value.includes("\0")) {
    throw invalidValue(`Expected \`${field}\` to be a string that is not empty, without NUL`);
  }
}
