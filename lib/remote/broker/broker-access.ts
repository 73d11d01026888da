/**
 * The way to a broker: that nobody else can listen and everybody says who it is, by TLS and credentials,
 * but for a broker of this machine alone that is said to be insecure.
 */

import type { ConnectionOptions } from "@nats-io/transport-node";

import { invalidType, invalidValue } from "../../errors.js";
import {
  authenticatorOf,
  type BrokerCredentials,
  kFormsText,
  type NatsAuthenticators,
  readCredentials,
} from "./credentials.js";
import { type BrokerServer, isLoopback, readServers } from "./servers.js";
import { type BrokerTls, readTls } from "./tls.js";

/** How to reach a broker. */
export type BrokerOptions = {
  /**
   * 1 to 64 URLs, "tls://HOST[:PORT]" or "nats://HOST[:PORT]". With TLS a host is a name, by which the
   * server's certificate is checked.
   */
  servers: readonly string[];
  /** Required, but with `insecure`. */
  credentials?: BrokerCredentials | undefined;
  /** Also says that "nats://" URLs are spoken to by TLS alone. */
  tls?: BrokerTls | undefined;
  /**
   * Neither TLS nor credentials are needed. Only for servers of this machine: 127.0.0.0/8, ::1 and
   * localhost. Commands with `network: "allow"` reach such a broker, too. Default false.
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

/** Options that were checked. What prints it shows no secret. */
export class BrokerAccess {
  readonly servers: readonly BrokerServer[];
  readonly insecure: boolean;
  readonly #credentials: BrokerCredentials | undefined;
  readonly #tls: BrokerTls | undefined;

  /**
   * Reads what is of the broker among the options of a caller or a worker; their other fields are not
   * looked at. No I/O.
   *
   * @throws TypeError with a code that names the field, without any secret.
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
   * The options of NATS' `connect` that are about where and as whom; a credentials file is read now.
   *
   * @param nats the client's package, an optional peer.
   * @throws (rejects) TypeError that names the credentials file where it can't be used.
   */
  async connectionOptions(nats: NatsAuthenticators): Promise<ConnectionOptions> {
    const { ca, cert, key } = this.#tls ?? {};
    const certificates = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
    const credentials = this.#credentials;
    return {
      servers: this.servers.map(({ url }) => url),
      // With an object the client refuses a server that offers no TLS; it does not look at "tls://".
      tls: this.insecure ? null : certificates,
      ...(credentials && { authenticator: await authenticatorOf(credentials, nats) }),
      // A server may tell of others, which are not of this machine.
      ...(this.insecure && { ignoreClusterUpdates: true }),
    };
  }
}
