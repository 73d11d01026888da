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

/** Replaces a file atomically: a server may be asked to read it at any time. */
async function replace(file: string, text: string): Promise<void> {
  const next = `${file}.${process.pid}.new`;
  await writeFile(next, text, { flag: "wx" });
  await rename(next, file);
}

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
  if (members.length === 0) throw new CliError("--tenant or --worker is needed", 2);
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
  await writeBrokerConfig(options, nkeys, (line) => process.stdout.write(`${line}\n`));
}

/** Seeds of nkeys in files, each for one user of the broker. */

/** Creates and reads keys; a part of the NATS client, an optional peer dependency. */
type Nkeys = typeof import("@nats-io/transport-node").nkeys;

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
