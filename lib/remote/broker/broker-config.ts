/** The text of a NATS server's configuration, in which nobody may do more than their role needs. Pure. */

import { invalidValue } from "../../errors.js";
import { expectToken } from "../subjects.js";

/** Who may connect. */
export type BrokerUser = {
  /** For a comment: "tenant a". */
  label: string;
  /** The public nkey, "U…". The server has no secret of anybody's. */
  nkey: string;
  permissions: BrokerPermissions;
};

/** What the server is made with. */
export type NatsConfig = {
  /** "HOST:PORT". */
  listen: string;
  /** Paths of PEM files on the server's machine; undefined: no TLS. */
  tls?: NatsTls | undefined;
  /** Each with a key of its own. */
  users: readonly BrokerUser[];
};

/** Paths of PEM files. */
export type NatsTls = {
  cert: string;
  key: string;
  /** Clients must have a certificate that this authority has signed. Default: none is asked for. */
  ca?: string | undefined;
};

/** Larger than any message of ours, which are of at most 256 KiB. */
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

/** @throws TypeError for what can't be written into it, and where two have the same key. */
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

/** What each role may publish and subscribe to at the broker. All else is refused there. Pure. */

/** As NATS has them: "subject", or "subject queue" for subscribing in that queue group alone. */
type BrokerPermissions = {
  publish: readonly string[];
  subscribe: readonly string[];
};

/** A worker: its name is its own, in whichever pool it is. */
export type WorkerIdentity = { pool: string; name: string };

/**
 * A caller of a tenant: it speaks to workers as this tenant alone, which they take from the subject, and
 * hears what is sent to this tenant's callers.
 *
 * @throws TypeError where the name is none.
 */
export function callerPermissions(tenant: string): BrokerPermissions {
  expectToken(tenant, "tenant");
  return {
    publish: [`nr1.free.*.${tenant}`, `nr1.want.*.${tenant}`, `nr1.w.*.*.${tenant}`],
    subscribe: [`nr1.c.${tenant}.>`],
  };
}

/**
 * A worker: it hears what its pool is asked, in turn with the others, and what is sent to it by name; it
 * speaks to callers alone.
 *
 * @throws TypeError where a name is none.
 */
export function workerPermissions({ pool, name }: WorkerIdentity): BrokerPermissions {
  expectToken(pool, "pool");
  expectToken(name, "worker");
  return {
    publish: ["nr1.c.*.*"],
    subscribe: [`nr1.free.${pool}.* free`, `nr1.want.${pool}.* want`, `nr1.w.${name}.*.*`],
  };
}
