/** Writes the configuration of a NATS server in which each user has only the permissions of its role. Pure. */

import { invalidValue } from "../../errors.js";
import { expectToken } from "../subjects.js";

/** A user that may connect. */
export type BrokerUser = {
  /** For a comment: "tenant a". */
  label: string;
  /** The public nkey, "U…". The server holds no secrets of users. */
  nkey: string;
  permissions: BrokerPermissions;
};

/** Settings of the server. */
export type NatsConfig = {
  /** "HOST:PORT". */
  listen: string;
  /** Paths of PEM files on the server's machine; undefined: no TLS. */
  tls?: NatsTls | undefined;
  /** Each user has its own key. */
  users: readonly BrokerUser[];
};

/** Paths of PEM files. */
export type NatsTls = {
  cert: string;
  key: string;
  /** Clients need a certificate signed by this authority. Default: no client certificate. */
  ca?: string | undefined;
};

/** Larger than any message of this package; those have at most 256 KiB. */
const kMaxPayload = 1024 ** 2;

const kPublicKey = /^U[A-Z2-7]{55}$/;

function quoted(text: string, what: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (/[\x00-\x1f\x7f]/.test(text)) {
    throw invalidValue(
      `Expected ${what} to have no control characters, got ${JSON.stringify(text)}`,
    );
  }
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function listed(subjects: readonly string[]): string {
  return `[${subjects.map((each) => quoted(each, "a subject")).join(", ")}]`;
}

function userText({ label, nkey, permissions }: BrokerUser): string {
  if (!kPublicKey.test(nkey))
    throw invalidValue(`${JSON.stringify(nkey)} is no user's public nkey`);
  return `    # ${label}
    {
      nkey: ${nkey}
      permissions: {
        publish: { allow: ${listed(permissions.publish)} }
        subscribe: { allow: ${listed(permissions.subscribe)} }
      }
    }`;
}

function tlsText({ cert, key, ca }: NatsTls): string {
  const lines = [
    `  cert_file: ${quoted(cert, "a path")}`,
    `  key_file: ${quoted(key, "a path")}`,
    ...(ca === undefined ? [] : [`  ca_file: ${quoted(ca, "a path")}`, "  verify: true"]),
    "  timeout: 5",
  ];
  return `\ntls {\n${lines.join("\n")}\n}\n`;
}

/**
 * Returns the text of the configuration.
 * @throws TypeError for a value that can't be written, or if two users have the same key
 */
export function natsConfig({ listen, tls, users }: NatsConfig): string {
  if (new Set(users.map(({ nkey }) => nkey)).size < users.length) {
    throw invalidValue("Expected every user to have a key of its own");
  }
  return `# Written by \`native-runner broker-config\`, which writes it anew: what is changed here is lost then.
# There is no JetStream: commands, environments and input never lie in a queue.
listen: ${quoted(listen, "`listen`")}
max_payload: ${kMaxPayload}
${tls === undefined ? "" : tlsText(tls)}
authorization {
  # Who has no permissions of its own has none.
  default_permissions: { publish: { deny: ">" }, subscribe: { deny: ">" } }
  users: [
${users.map(userText).join("\n")}
  ]
}
`;
}

/** Permissions of each role at the broker, to publish and to subscribe. The broker refuses all else. Pure. */

/** In NATS' notation: "subject", or "subject queue" to subscribe in that queue group only. */
type BrokerPermissions = {
  publish: readonly string[];
  subscribe: readonly string[];
};

/** A worker. It keeps its name in every pool. */
export type WorkerIdentity = { pool: string; name: string };

/**
 * Returns the permissions of a tenant's caller. It can send to workers only as this tenant, which workers take from the
 * subject, and receives messages for callers of this tenant.
 *
 * @param pools the pools that it may use; undefined: all
 * @throws TypeError for a malformed name
 */
export function callerPermissions(tenant: string, pools?: readonly string[]): BrokerPermissions {
  expectToken(tenant, "tenant");
  for (const pool of pools ?? []) expectToken(pool, "pool");
  return {
    publish: (pools ?? ["*"]).flatMap((pool) => [
      `nr1.free.${pool}.${tenant}`,
      `nr1.want.${pool}.${tenant}`,
      `nr1.w.${pool}.*.*.${tenant}`,
    ]),
    subscribe: [`nr1.c.${tenant}.>`],
  };
}

/**
 * Returns the permissions of a worker. It receives requests to its pool, shared with the pool's other workers, and
 * messages addressed to it; it can send to callers only, as this worker of this pool.
 *
 * @throws TypeError for a malformed name
 */
export function workerPermissions({ pool, name }: WorkerIdentity): BrokerPermissions {
  expectToken(pool, "pool");
  expectToken(name, "worker");
  return {
    publish: [`nr1.c.*.*.w.${pool}.${name}.*`, `nr1.o.*.w.${pool}.${name}`],
    subscribe: [
      `nr1.free.${pool}.* free`,
      `nr1.want.${pool}.* want`,
      `nr1.w.${pool}.${name}.*.*`,
      "nr1.list.*",
      `nr1.op.${pool}.${name}.*`,
    ],
  };
}

/**
 * Returns the permissions of an operator, who lists, cordons and drains workers of all pools, and runs nothing.
 *
 * @throws TypeError for a malformed name
 */
export function operatorPermissions(operator: string): BrokerPermissions {
  expectToken(operator, "operator");
  return {
    publish: [`nr1.list.${operator}`, `nr1.op.*.*.${operator}`],
    subscribe: [`nr1.o.${operator}.>`],
  };
}
