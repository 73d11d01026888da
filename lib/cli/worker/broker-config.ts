/** `native-runner broker-config`: writes a NATS server's configuration, and a key for each client. */

import { mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";

import { invalidValue } from "../../errors.js";
import { isLoopback } from "../../remote/broker/broker-access.js";
import {
  type BrokerUser,
  callerPermissions,
  type NatsTls,
  natsConfig,
  operatorPermissions,
  workerPermissions,
} from "../../remote/broker/broker-config.js";
import { CliError } from "../terminal.js";

/** Options as commander passes them. */
export type BrokerConfigOptions = {
  directory: string;
  /** "NAME", or "NAME=POOL,POOL" for one that may use these pools only. */
  tenant?: string[];
  worker?: { pool: string; name: string }[];
  operator?: string[];
  listen?: { host: string; port: number };
  tlsCert?: string;
  tlsKey?: string;
  tlsCa?: string;
  insecure?: boolean;
  /** A file with the seed of an account, or of one of its signing keys. */
  accountKey?: string;
  /** The account's public key, if the seed is that of a signing key. */
  account?: string;
  /** Milliseconds. */
  expires?: number;
};

const kPort = 4222;

/** A client and its key file below the directory. */
type Member = Omit<BrokerUser, "nkey"> & { file: string };

function membersOf({ tenant = [], worker = [], operator = [] }: BrokerConfigOptions): Member[] {
  const names = worker.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) {
    const why = "what is sent to a worker goes by its name";
    throw new CliError(`--worker ${twice} is there twice, also where the pools differ: ${why}`, 2);
  }
  const tenants = [...new Set(tenant)].map(tenantOf);
  const again = tenants.find(
    ({ name }, at) => tenants.findIndex((each) => each.name === name) < at,
  );
  if (again !== undefined) throw new CliError(`--tenant ${again.name} is there twice`, 2);
  const callers = tenants.map(({ name, pools }) => ({
    label: `callers of the tenant ${name}${pools ? `, in ${pools.join(" and ")}` : ""}`,
    file: path.join("tenants", `${name}.nk`),
    permissions: callerPermissions(name, pools),
  }));
  const workers = worker.map((each) => ({
    label: `the worker ${each.name} of the pool ${each.pool}`,
    file: path.join("workers", each.pool, `${each.name}.nk`),
    permissions: workerPermissions(each),
  }));
  const operators = [...new Set(operator)].map((name) => ({
    label: `the operator ${name} of the workers`,
    file: path.join("operators", `${name}.nk`),
    permissions: operatorPermissions(name),
  }));
  return [...callers, ...workers, ...operators];
}

/** Returns the parts of "NAME" or "NAME=POOL,POOL"; `callerPermissions` checks them. */
function tenantOf(text: string): { name: string; pools: string[] | undefined } {
  const at = text.indexOf("=");
  if (at < 0) return { name: text, pools: undefined };
  return { name: text.slice(0, at), pools: [...new Set(text.slice(at + 1).split(","))] };
}

function tlsOf({ tlsCert, tlsKey, tlsCa, insecure }: BrokerConfigOptions): NatsTls | undefined {
  if (insecure) {
    if (tlsCert ?? tlsKey ?? tlsCa) throw new CliError("--insecure or --tls-…, not both", 2);
    return undefined;
  }
  if (tlsCert === undefined || tlsKey === undefined) {
    const fix = "name the server's certificate and key; on one machine alone, --insecure";
    throw new CliError("--tls-cert and --tls-key are needed", 2, fix);
  }
  const ca = tlsCa === undefined ? undefined : path.resolve(tlsCa);
  return { cert: path.resolve(tlsCert), key: path.resolve(tlsKey), ca };
}

function listenOf({ listen, insecure }: BrokerConfigOptions): string {
  const { host, port } = listen ?? { host: insecure ? "127.0.0.1" : "0.0.0.0", port: kPort };
  if (insecure && !isLoopback(host)) {
    throw new CliError(`--insecure listens on this machine alone, not on ${host}`, 2);
  }
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const kNobody = "--tenant, --worker or --operator is needed";

/** Replaces a file atomically: a server may be asked to read it at any time. */
async function replace(file: string, text: string, mode = 0o666): Promise<void> {
  const next = `${file}.${process.pid}.new`;
  await writeFile(next, text, { flag: "wx", mode });
  await rename(next, file);
}

/** Issues users of an account: the broker's server takes them without a configuration of its own. */
type Issuer = (user: {
  label: string;
  nkey: string;
  permissions: BrokerUser["permissions"];
}) => Promise<string>;

const kAccountSeed = /^SA[A-Z2-7]{56}$/;
const kAccount = /^A[A-Z2-7]{55}$/;

/** @throws (rejects) CliError for a key or an account that is none, and for options of a server */
async function issuerOf(options: BrokerConfigOptions, jwt: Jwt): Promise<Issuer> {
  const { accountKey = "", account, expires, listen, tlsCert, tlsKey, tlsCa, insecure } = options;
  if (listen ?? tlsCert ?? tlsKey ?? tlsCa ?? insecure) {
    throw new CliError(
      "with --account-key no nats.conf is written: leave --listen, --tls-… and --insecure out",
      2,
    );
  }
  const seed = await seedOf(accountKey);
  if (seed === undefined || !kAccountSeed.test(seed)) {
    throw new CliError(
      `--account-key ${accountKey} has no seed of an account ("SA" and 56 characters)`,
      2,
    );
  }
  if (account !== undefined && !kAccount.test(account)) {
    throw new CliError(`--account is the public key of an account ("A…"), not ${account}`, 2);
  }
  return ({ label, nkey, permissions: { publish, subscribe } }) => {
    const may = { pub: { allow: [...publish] }, sub: { allow: [...subscribe] } };
    const until = expires === undefined ? {} : { exp: Math.floor((Date.now() + expires) / 1_000) };
    const signer = account === undefined ? {} : { signer: seed };
    return jwt.encodeUser(label, nkey, account ?? seed, may, { ...until, ...signer });
  };
}

/** Replaces a credentials file atomically: whoever connects meanwhile reads the one or the other. */
async function writeCredentials(file: string, token: string, seed: string): Promise<void> {
  const text = `-----BEGIN NATS USER JWT-----
${token}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------
`;
  await replace(file, text, kOwnerOnly);
}

/**
 * Writes credentials for the named users of an account, for a broker whose server has accounts. Existing keys are kept;
 * permissions and expiry are issued anew.
 */
export async function issueCredentials(
  options: BrokerConfigOptions,
  nkeys: Nkeys,
  jwt: Jwt,
  say: (line: string) => void,
): Promise<void> {
  const members = membersOf(options);
  if (members.length === 0) throw new CliError(kNobody, 2);
  const issue = await issuerOf(options, jwt);
  const directory = path.resolve(options.directory);
  for (const { file, ...member } of members) {
    const place = path.join(directory, file.replace(/\.nk$/, ".creds"));
    await mkdir(path.dirname(place), { recursive: true, mode: kOwnersFolder });
    const written = await seedOf(place);
    const known = /^SU[A-Z2-7]{56}$/m.exec(written ?? "")?.[0];
    const pair = known === undefined ? nkeys.createUser() : pairOf(known, nkeys);
    const seed = known ?? new TextDecoder().decode(pair.getSeed());
    await writeCredentials(place, await issue({ ...member, nkey: pair.getPublicKey() }), seed);
    say(`${known === undefined ? "made" : "issued anew"} ${place}: for ${member.label}`);
  }
}

const pairOf = (seed: string, nkeys: Nkeys) => nkeys.fromSeed(new TextEncoder().encode(seed));

/**
 * Creates missing keys, and writes the configuration for the named clients. Existing keys are kept, so that
 * their owners can continue.
 */
export async function writeBrokerConfig(
  options: BrokerConfigOptions,
  nkeys: Nkeys,
  say: (line: string) => void,
): Promise<void> {
  const members = membersOf(options);
  if (members.length === 0) throw new CliError(kNobody, 2);
  const listen = listenOf(options);
  const tls = tlsOf(options);
  const directory = path.resolve(options.directory);
  await mkdir(directory, { recursive: true });
  const users: BrokerUser[] = [];
  for (const { file, ...member } of members) {
    const place = path.join(directory, file);
    const { publicKey, isNew } = await userKey(place, nkeys);
    users.push({ ...member, nkey: publicKey });
    say(`${isNew ? "made" : "kept"} ${place}: the key of ${member.label}`);
  }
  const config = path.join(directory, "nats.conf");
  await replace(config, natsConfig({ listen, tls, users }));
  say(`wrote ${config}: \`nats-server -c ${config}\`, or \`nats-server --signal reload\``);
}

/** Runs the command. */
export async function brokerConfig(options: BrokerConfigOptions): Promise<void> {
  const { nkeys } = await import("@nats-io/transport-node").catch((cause) => {
    throw new CliError(
      `broker-config needs the package @nats-io/transport-node (${(cause as Error).message})`,
      125,
      "npm install @nats-io/transport-node@3",
    );
  });
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  if (options.accountKey === undefined) {
    if (options.account !== undefined || options.expires !== undefined) {
      throw new CliError("--account and --expires mean nothing without --account-key", 2);
    }
    return writeBrokerConfig(options, nkeys, say);
  }
  const jwt = await import("@nats-io/jwt").catch((cause) => {
    throw new CliError(
      `--account-key needs the package @nats-io/jwt (${(cause as Error).message})`,
      125,
      "npm install @nats-io/jwt",
    );
  });
  await issueCredentials(options, nkeys, jwt, say);
}

/** Seeds of nkeys in files, each for one user of the broker. */

/** Creates and reads keys; a part of the NATS client, an optional peer dependency. */
type Nkeys = typeof import("@nats-io/transport-node").nkeys;

/** Issues users of accounts; an optional peer dependency. */
type Jwt = typeof import("@nats-io/jwt");

/** A key; `isNew`: it was created now. */
export type UserKey = { publicKey: string; isNew: boolean };

const kOwnerOnly = 0o600;
const kOwnersFolder = 0o700;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Creates the file atomically and never replaces an existing one, which holds a key in use. */
async function make(file: string, seed: Uint8Array): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: kOwnersFolder });
  const handle = await open(file, "wx", kOwnerOnly);
  try {
    await handle.writeFile(Buffer.concat([seed, Buffer.from("\n")]));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function seedOf(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Returns the key in a file; if the file does not exist, creates it with a new key, readable only by its
 * owner.
 *
 * @throws (rejects) TypeError for a file without a user's seed; Node's file system errors.
 */
async function userKey(file: string, nkeys: Nkeys): Promise<UserKey> {
  const seed = await seedOf(file);
  if (seed === undefined) {
    const pair = nkeys.createUser();
    await make(file, pair.getSeed());
    return { publicKey: pair.getPublicKey(), isNew: true };
  }
  try {
    const pair = nkeys.fromSeed(new TextEncoder().encode(seed));
    const publicKey = pair.getPublicKey();
    if (publicKey.startsWith("U")) return { publicKey, isNew: false };
  } catch {} // the file's contents are never reported
  throw invalidValue(`${file} has no seed of a user's nkey`);
}
