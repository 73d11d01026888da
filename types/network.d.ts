/** The public types of a network by domain; shipped and re-exported like public.d.ts. */

/** Lists of hosts that a package manager or a forge needs; docs/network.md lists their contents. */
export type NetworkPreset = "npm" | "pypi" | "github" | "debian" | "crates" | "go";

/**
 * How a connection named its host. "transparent": the command resolved the name and connected. The other
 * values are requests to the sandbox's proxy: HTTP CONNECT, an HTTP request in absolute form, or SOCKS 5.
 */
export type NetworkVia = "transparent" | "connect" | "http" | "socks";

/** A request that no rule decides, passed to {@link NetworkByDomain.onRequest}. */
export type NetworkRequest = {
  /** The requested host name, in lower case and ASCII. */
  host: string;
  /** The requested port. */
  port: number;
  /** How the host was requested. */
  via: NetworkVia;
  /** The command's program and arguments; absent if several commands run in the sandbox. */
  command?: string[];
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
   * if `presets` or `onRequest` is set.
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
  /** Lists of names to add to `allow`. Default none. */
  presets?: readonly NetworkPreset[] | undefined;
  /**
   * Called for each host and port that no rule decides, on ports 80, 443 and those that `allow` names. Must
   * answer within 30 seconds; a throw, a rejection, another value or no answer is a denial. Default: all such
   * requests are denied.
   */
  onRequest?: ((request: NetworkRequest) => NetworkAnswer | Promise<NetworkAnswer>) | undefined;
};

/** A connection that a command made or was refused. */
export type NetworkConnection = {
  /** The requested host name or address. */
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
  /** How the host was requested. */
  via: NetworkVia;
  /** Bytes that the command sent and the host's network accepted. */
  bytesOut: number;
  /** Bytes received. */
  bytesIn: number;
  /** Milliseconds from the request to the end of the connection. */
  durationMs: number;
  /** Number of equal denials combined in this record; 1 for all other connections. */
  count: number;
};
