/** Where a secret may go, and which requests a rule allows: hosts, ports and paths, compared normalised. */

import { invalidValue } from "../errors.js";

/** A host, with a port and a path if the entry names them. */
export type Target = {
  /** In lower case; "*." and a domain for all names below it. */
  host: string;
  /** undefined: 443. */
  port: number | undefined;
  /** Decoded and normalised segments; the last may be "*", for whatever is below. undefined: every path. */
  path: readonly string[] | undefined;
};

/** A request as rules see it. */
export type RequestTarget = {
  host: string;
  port: number;
  /** See {@link normalisedPath}; undefined: no rule that has a path covers it. */
  path: readonly string[] | undefined;
};

/** Which requests to a host are allowed; undefined: all methods, all paths. */
export type HttpRuleTarget = {
  /** Without a path. */
  target: Target;
  methods: readonly string[] | undefined;
  paths: readonly (readonly string[])[] | undefined;
};

const kTlsPort = 443;
const kName =
  /^(?:\*\.)?(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/**
 * Decodes and normalises a path as most servers do: percent-codes decoded once, empty and "." segments left out, ".."
 * taken back. Returns undefined for a path that servers read differently: with a malformed or double code, an encoded
 * slash or NUL, a backslash, or a ".." above the root.
 */
export function normalisedPath(path: string): string[] | undefined {
  const plain = path.split(/[?#]/, 1)[0] ?? "";
  if (!plain.startsWith("/") || /%(?:2f|5c|00|25[0-9a-f]{2})|\\/i.test(plain)) return undefined;
  let decoded: string;
  try {
    decoded = decodeURIComponent(plain);
  } catch {
    return undefined;
  }
  const segments: string[] = [];
  for (const segment of decoded.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments;
}

/** Reads a path of a rule; "*" may be its last segment. Undefined for any other. */
export function readPath(text: string): readonly string[] | undefined {
  const path = /[?#]/.test(text) ? undefined : normalisedPath(text);
  const isOpen = path?.at(-1) === "*";
  const fixed = isOpen ? path?.slice(0, -1) : path;
  return fixed?.some((segment) => segment.includes("*")) ? undefined : path;
}

/**
 * Reads "host", "host:port", "host/path/*" and "host:port/path".
 * @throws TypeError naming `field`.
 */
export function readTarget(text: string, field: string): Target {
  const slash = text.indexOf("/");
  const authority = slash < 0 ? text : text.slice(0, slash);
  const [, name = "", digits] = /^(.*?)(?::([0-9]+))?$/.exec(authority) ?? [];
  const host = name.toLowerCase();
  const port = digits === undefined ? undefined : Number(digits);
  const isWide = host.startsWith("*.") && !host.slice(2).includes(".");
  const isHost = kName.test(host) && !isWide && !/^[0-9.]+$/.test(host);
  if (!isHost || (port !== undefined && (port < 1 || port > 65535))) {
    const expected = 'a host such as "api.example.com", with a port and a path if need be';
    throw invalidValue(`Expected \`${field}\` to be ${expected}, got ${JSON.stringify(text)}`);
  }
  if (slash < 0) return { host, port, path: undefined };
  const path = readPath(text.slice(slash));
  if (path === undefined) {
    const expected = 'a path, whose last segment may be "*"';
    throw invalidValue(`Expected \`${field}\` to have ${expected}, got ${JSON.stringify(text)}`);
  }
  return { host, port, path };
}

/** True if the pattern, of a whole path or with "*" at its end, covers the path. */
export function coversPath(
  pattern: readonly string[] | undefined,
  path: readonly string[] | undefined,
): boolean {
  if (pattern === undefined) return true;
  if (path === undefined) return false;
  const isOpen = pattern.at(-1) === "*";
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? path.length < fixed.length : path.length !== fixed.length) return false;
  return fixed.every((segment, at) => segment === path[at]);
}

/** True if the target names the host and port, whatever the path. */
export function coversHost({ host, port }: Target, asked: { host: string; port: number }): boolean {
  if ((port ?? kTlsPort) !== asked.port) return false;
  const name = asked.host.toLowerCase();
  return host.startsWith("*.") ? name.endsWith(host.slice(1)) : name === host;
}

/** True if the request goes where the target says. */
export const covers = (target: Target, request: RequestTarget): boolean =>
  coversHost(target, request) && coversPath(target.path, request.path);

/** What the rules say of a request: the one that allows it, that none does, or that none names its host. */
export type RuleVerdict = { rule: string } | "refused" | "none";

/** Decides about a request by the rules of its host. */
export function ruled(
  method: string,
  request: RequestTarget,
  rules: readonly HttpRuleTarget[],
): RuleVerdict {
  const own = rules.filter(({ target }) => coversHost(target, request));
  if (own.length === 0) return "none";
  for (const { target, methods, paths } of own) {
    if (methods !== undefined && !methods.includes(method)) continue;
    const path = paths?.find((each) => coversPath(each, request.path));
    if (paths !== undefined && path === undefined) continue;
    const place = target.port === undefined ? target.host : `${target.host}:${target.port}`;
    const which = methods === undefined ? "" : `${method} `;
    return { rule: `${which}${place}${path === undefined ? "/*" : `/${path.join("/")}`}` };
  }
  return "refused";
}
