/** The public types of a network by domain; shipped and re-exported as public.d.ts is. */

/** Lists of hosts that a package manager or a forge needs; see docs/network.md for what is in each. */
export type NetworkPreset = "npm" | "pypi" | "github" | "debian" | "crates" | "go";

/**
 * How a connection asked for its host. "transparent": it resolved the name, and connected. The others
 * asked the sandbox's proxy: by HTTP's CONNECT, by an HTTP request in absolute form, by SOCKS 5.
 */
export type NetworkVia = "transparent" | "connect" | "http" | "socks";

/** What no rule decides, told to {@link NetworkByDomain.onRequest}. */
export type NetworkRequest = {
  /** The name that is asked for, in lower case and ASCII. */
  host: string;
  /** Its port. */
  port: number;
  /** How it asked. */
  via: NetworkVia;
  /** The command's program and arguments; absent where several run in the sandbox. */
  command?: string[];
  /** Aborted when no answer is wanted any more: the command has ended, or the time is over. */
  signal: AbortSignal;
};

/** What `onRequest` may answer. */
export type NetworkAnswer = "allow" | "deny";

/**
 * What commands may reach of the network, by name. Whatever no rule allows is refused. Entries are
 * "host", "host:port", "*.domain" (all names below it, not itself) or "*.domain:port"; international
 * names in either spelling; addresses are none. At most 1024 entries a list and 64 ports in all.
 */
export type NetworkByDomain = {
  /**
   * What may be reached; without a port on 80 and 443. An empty list denies everything. May be left out
   * with `presets` or `onRequest`.
   */
  allow?: readonly string[] | undefined;
  /** What may not, whatever allows it; without a port on every port. Default none. */
  deny?: readonly string[] | undefined;
  /**
   * Allowed names may lead to public addresses only. Hosts named here ("host", "*.domain") may lead to
   * others too, and every allowed name to the addresses named here ("10.0.0.0/8", "127.0.0.1"). Default none.
   */
  allowPrivate?: readonly string[] | undefined;
  /** Lists of names that are added to `allow`. Default none. */
  presets?: readonly NetworkPreset[] | undefined;
  /**
   * Asked about each host and port that no rule decides, on ports 80, 443 and those that `allow` names.
   * Has 30 seconds; a throw, a rejection, another value or no answer is a denial. Default: all of that
   * is denied.
   */
  onRequest?: ((request: NetworkRequest) => NetworkAnswer | Promise<NetworkAnswer>) | undefined;
};

/** A connection that a command made or was refused. */
export type NetworkConnection = {
  /** The name, or the address, that was asked for. */
  host: string;
  /** 0 where the name was refused before there was a connection. */
  port: number;
  /** The address that was connected to, or refused; absent where there was none. */
  address?: string;
  /** What became of it. An allowed one may have failed: see `reason`. */
  verdict: "allowed" | "denied";
  /** The entry that decided, "onRequest", or absent where there was none. */
  rule?: string;
  /** Of a denial or a failure, as a clause: "no rule names it". */
  reason?: string;
  /** How it asked. */
  via: NetworkVia;
  /** Bytes that the command sent and the host's network took. */
  bytesOut: number;
  /** Bytes that came back. */
  bytesIn: number;
  /** From the request to the end of the connection. */
  durationMs: number;
  /** Denials that are alike in all of the above are one record; of others 1. */
  count: number;
};
