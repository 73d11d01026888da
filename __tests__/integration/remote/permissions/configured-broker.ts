/** A broker with the configuration that the command writes, and clients with the keys that it has made. */

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as jwt from "@nats-io/jwt";
import * as nats from "@nats-io/transport-node";
import {
  connect,
  type NatsConnection,
  nkeys,
  PermissionViolationError,
} from "@nats-io/transport-node";

import {
  type BrokerConfigOptions,
  issueCredentials,
  writeBrokerConfig,
} from "../../../../lib/cli/worker/broker-config.js";
import { BrokerAccess, type BrokerOptions } from "../../../../lib/remote/broker/broker-access.js";
import { tempDirectory } from "../../support/temp.js";
import { type Certificates, type NatsServer, startNatsServer } from "../support/nats-server.js";

/** Where a key of the command's lies. */
export const kKeys = {
  "caller a": "tenants/a.nk",
  "caller b": "tenants/b.nk",
  /** It may use the pool `gpu` only. */
  "caller c": "tenants/c.nk",
  "worker w1": "workers/build/w1.nk",
  "worker w2": "workers/build/w2.nk",
  "worker g1": "workers/gpu/g1.nk",
  "operator ops": "operators/ops.nk",
} as const;
export type Role = keyof typeof kKeys;

export type Broker = {
  server: NatsServer;
  directory: string;
  /** As one of the roles, or with other options. */
  connect(role: Role, more?: Partial<BrokerOptions>): Promise<NatsConnection>;
};

/** Clients by the options that callers and workers have. */
export async function connectBy(options: BrokerOptions): Promise<NatsConnection> {
  const own = await new BrokerAccess(options).connectionOptions(nats);
  return connect({ ...own, reconnect: false, noAsyncTraces: true, timeout: 20_000 });
}

/** How a broker knows its users: by the configuration that the command writes, or by an account that has issued them. */
export type BrokerKind = "nkeys" | "accounts";

/** Writes a server's configuration with one account, and the file of its seed; returns both paths. */
export async function makeAccount(directory: string, { cert, key }: Certificates) {
  const [operator, account, signing] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
  ];
  const operatorJwt = await jwt.encodeOperator("tests", operator);
  const kNoLimit = -1;
  const limits = { conn: kNoLimit, subs: kNoLimit, data: kNoLimit, payload: kNoLimit };
  const keys = { signing_keys: [signing.getPublicKey()], limits: limits as never };
  const accountJwt = await jwt.encodeAccount("workers", account, keys, { signer: operator });
  const config = path.join(directory, "nats.conf");
  writeFileSync(
    config,
    `operator: ${operatorJwt}
resolver: MEMORY
resolver_preload: { ${account.getPublicKey()}: ${accountJwt} }
tls { cert_file: "${cert}", key_file: "${key}", timeout: 5 }
`,
  );
  const seed = path.join(directory, "signing.nk");
  writeFileSync(seed, signing.getSeed());
  return { config, accountKey: seed, account: account.getPublicKey() };
}

/** With three tenants, two workers of one pool and one of another. */
export async function startBroker(
  certificates: Certificates,
  kind: BrokerKind = "nkeys",
): Promise<Broker> {
  const directory = tempDirectory("broker");
  const options = {
    directory,
    tenant: ["a", "b", "c=gpu"],
    worker: [
      { pool: "build", name: "w1" },
      { pool: "build", name: "w2" },
      { pool: "gpu", name: "g1" },
    ],
    operator: ["ops"],
  };
  const config = await write(options, certificates, kind);
  const server = await startNatsServer(config);
  const fileOf = (role: Role) =>
    path.join(directory, kind === "nkeys" ? kKeys[role] : kKeys[role].replace(".nk", ".creds"));
  return {
    server,
    directory,
    connect: (role, more) =>
      connectBy({
        servers: [`tls://localhost:${server.port}`],
        credentials: { file: fileOf(role) },
        tls: { ca: certificates.caText },
        ...more,
      }),
  };
}

async function write(options: BrokerConfigOptions, certificates: Certificates, kind: BrokerKind) {
  const { directory } = options;
  if (kind === "nkeys") {
    const tls = { tlsCert: certificates.cert, tlsKey: certificates.key };
    await writeBrokerConfig({ ...options, ...tls }, nkeys, () => {});
    return path.join(directory, "nats.conf");
  }
  const { config, ...account } = await makeAccount(directory, certificates);
  await issueCredentials({ ...options, ...account }, nkeys, jwt, () => {});
  return config;
}

/** The seed of a role. */
export function seedOf(broker: Broker, role: Role): string {
  return readFileSync(path.join(broker.directory, kKeys[role]), "utf8").trim();
}

const seen = new WeakMap<NatsConnection, string[]>();

/** What the server has refused a connection, from the first call on. */
function refusedOf(connection: NatsConnection): string[] {
  const known = seen.get(connection);
  if (known !== undefined) return known;
  const refused: string[] = [];
  seen.set(connection, refused);
  void (async () => {
    for await (const each of connection.status()) {
      if (each.type !== "error" || !(each.error instanceof PermissionViolationError)) continue;
      const { operation, subject, queue } = each.error;
      const done = operation === "publish" ? operation : "subscribe";
      refused.push(`${done} ${subject}${queue ? ` ${queue}` : ""}`);
    }
  })();
  return refused;
}

/**
 * What the server refuses a client that does something: it answers a ping behind it, and says before
 * what it has refused.
 */
export async function refusalsOf(
  connection: NatsConnection,
  act: (connection: NatsConnection) => void,
): Promise<string[]> {
  const refused = refusedOf(connection);
  const before = refused.length;
  act(connection);
  await connection.flush();
  await connection.flush(); // errors are reported behind the first answer at the latest
  return refused.slice(before);
}
