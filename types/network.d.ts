/** The public types of a network by domain; shipped and re-exported like public.d.ts. */

/** Lists of hosts that a package manager or a forge needs; docs/network.md lists their contents. */
export type NetworkPreset = "npm" | "pypi" | "github" | "debian" | "crates" | "go";

/**
 * How a connection named its host. "transparent": the command resolved the name and connected. The other
 * values are requests to the sandbox's proxy: HTTP CONNECT, an HTTP request in absolute form, or SOCKS 5.
 */
export type NetworkVia = "transparent" | "connect" | "http" | "socks";

/** A connection, or a request, that no rule decides, passed to {@link NetworkByDomain.onRequest}. */
export type NetworkRequest = {
  /** The requested host name, in lower case and ASCII. */
  host: string;
  /** The requested port. */
  port: number;
  /** How the host was requested. */
  via: NetworkVia;
  /** The command's program and arguments; absent if several commands run in the sandbox. */
  command?: string[];
  /** The method of a request that no rule of `http` allows; absent for a connection. */
  method?: string;
  /** Its path, as sent, without the query. */
  path?: string;
  /** Aborted when the answer is no longer needed: the command has ended, or the time limit has passed. */
  signal: AbortSignal;
};

/** The possible answers of `onRequest`. */
export type NetworkAnswer = "allow" | "deny";

/**
 * The hosts that commands may reach, by name. A host that no rule allows is refused. Entries are "host",
 * "host:port", "*.domain" (all names below the domain, not the domain itself) or "*.domain:port".
 * International names may use either spelling; addresses are not allowed. At most 1024 entries per list and
 * 64 ports in all.
 */
export type NetworkByDomain = {
  /**
   * Allowed hosts; an entry without a port allows 80 and 443. An empty list denies everything. May be omitted
   * if `presets`, `hostPorts` or `onRequest` is set.
   */
  allow?: readonly string[] | undefined;
  /**
   * Denied hosts, which override every allowing rule; an entry without a port denies every port. Default
   * none.
   */
  deny?: readonly string[] | undefined;
  /**
   * By default, allowed names may resolve only to public addresses. A host listed here ("host", "*.domain")
   * may also resolve to other addresses, and every allowed name may resolve to the addresses listed here
   * ("10.0.0.0/8", "127.0.0.1"). Default none.
   */
  allowPrivate?: readonly string[] | undefined;
  /**
   * Ports of the host's own loopback that commands reach at the same port of theirs, at 127.0.0.1 and ::1: 5432
   * (of the host's 127.0.0.1), "127.0.0.2:5432" or "[::1]:5432". With `allow` at most 64 ports. Rules for names
   * and `onRequest` don't matter to them. Default none.
   */
  hostPorts?: readonly (number | string)[] | undefined;
  /** Lists of names to add to `allow`. Default none. */
  presets?: readonly NetworkPreset[] | undefined;
  /**
   * Called for each host and port that no rule decides, on ports 80, 443 and those that `allow` names; and, with
   * method and path, for each request that none of its host's `http` rules allows. Must answer within 30 seconds; a throw, a rejection, another value or no answer is a denial. Default: all such
   * requests are denied.
   */
  onRequest?: ((request: NetworkRequest) => NetworkAnswer | Promise<NetworkAnswer>) | undefined;
  /**
   * Credentials that commands use and never have; docs/secrets.md. A command's environment has a placeholder
   * for each; the value is put into requests on the host, for the named hosts only. At most 64. Default none.
   */
  secrets?: readonly Secret[] | undefined;
  /**
   * Rules for requests. A request to a host that a rule names is refused unless one of that host's rules
   * allows it; hosts without a rule are not affected. Default none.
   */
  http?: readonly HttpRule[] | undefined;
};

/** A secret's value, and how long it may be used. */
export type SecretValue = {
  /** The value: 12 to 16,384 printable ASCII characters. */
  value: string;
  /** When it has to be asked for again. */
  expiresAt: Date;
};

/** A credential that commands use without having it. */
export type Secret = {
  /** The variable of the command's environment that holds the placeholder. */
  name: string;
  /**
   * The value: 12 to 16,384 printable ASCII characters. A function is asked when the first request needs the
   * value, once for all that wait. A text that it returns is kept for the run or session, a
   * {@link SecretValue} until it expires. If it throws, the request is answered with 502.
   */
  value: string | (() => string | SecretValue | Promise<string | SecretValue>);
  /**
   * Where the value may go: "host", "host:port", "host/path" or "host/path/*", for https. "*.domain" covers the
   * names below a domain that has a dot. Without a port: 443. They have to be allowed as well.
   */
  hosts: readonly string[];
  /**
   * How it gets into a request. "placeholder": where the command has put its placeholder, in a header, in the
   * base64 of Basic credentials, or in the query. The others set the credential in every request to the hosts,
   * whatever the command sent. Default "placeholder".
   */
  as?: "placeholder" | "bearer" | "basic" | { header: string } | { query: string } | undefined;
  /** The user name for `as: "basic"`. Default "x-access-token". */
  username?: string | undefined;
  /**
   * What becomes of a request that sends the placeholder where the value may not go. "refuse": it is answered
   * with 403; "end": the run is ended as well, with the limit "secret". Default "refuse".
   */
  onMisuse?: "refuse" | "end" | undefined;
};

/** Requests that are allowed; the first rule of a host that allows a request decides. */
export type HttpRule = {
  /** "host", "host:port" or "*.domain". Without a port: 443, and plain HTTP to the host is refused. */
  host: string;
  /** Methods in upper case. Default: all. */
  methods?: readonly string[] | undefined;
  /** Paths, or "/path/*" for all below; they are compared decoded and normalised. Default: all. */
  paths?: readonly string[] | undefined;
};

/** A request to a host with a secret or a rule. */
export type HttpRequestRecord = {
  /** The host's name. */
  host: string;
  /** The port. */
  port: number;
  /** The method, as sent. */
  method: string;
  /** The path, as sent, without the query. */
  path: string;
  /** The status of the answer; absent if there was none. */
  status?: number;
  /** Names of the secrets that were put in, or of the one that was misused, separated by commas. */
  secret?: string;
  /** The decision. */
  verdict: "allowed" | "refused";
  /** The rule that allowed it, as "METHOD host/path". */
  rule?: string;
  /** Why it was refused, or failed, as a clause. */
  reason?: string;
  /** Milliseconds until the answer began, or until it was refused. */
  durationMs: number;
};

/** A connection that a command made or was refused. */
export type NetworkConnection = {
  /** The requested host name or address; of `hostPorts`, the host's address. */
  host: string;
  /** The port; 0 if the name was refused before a connection was attempted. */
  port: number;
  /** The address that was connected to, or refused; absent if there was none. */
  address?: string;
  /** The decision. An allowed connection may still have failed: see `reason`. */
  verdict: "allowed" | "denied";
  /** The entry that decided, or "onRequest"; absent if no rule decided. */
  rule?: string;
  /** Why the connection was denied or failed, as a clause: "no rule names it". */
  reason?: string;
  /** How the host was requested; "host-port": by a port that `hostPorts` names. */
  via: NetworkVia | "host-port";
  /** Bytes that the command sent and the host's network accepted. */
  bytesOut: number;
  /** Bytes received. */
  bytesIn: number;
  /** Milliseconds from the request to the end of the connection. */
  durationMs: number;
  /** Number of equal denials combined in this record; 1 for all other connections. */
  count: number;
};
