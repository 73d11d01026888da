/** Entries of lists of hosts, in one spelling, and which of them lies within which. */

import { inAscii } from "../../../network/host-entry.js";

/** The ports of an `allow` entry that names none; the addon's kDefaultPorts. */
export const kDefaultPorts: readonly number[] = Object.freeze([80, 443]);

/** "host", "host:port", "*.domain" or "*.domain:port". */
export type HostRule = {
  /** In lower case, in ASCII, without a dot at the end. */
  pattern: string;
  /** Undefined: what the list says. */
  port: number | undefined;
};

const kParts = /^(\*\.)?([^:*/[\]]+?)(?::([1-9]\d{0,4}))?$/;
const kLabel = /^[a-z0-9_][a-z0-9_-]{0,62}$/;
const kNumber = /^(\d+|0x[0-9a-f]*)$/;
const kMostPort = 65_535;
const kLongestName = 253;

/**
 * An entry that the addon reads in the same way; undefined for what it does not take, and for what is not
 * sure to mean the same to it.
 */
export function readHostRule(entry: string): HostRule | undefined {
  const [, wildcard = "", spelled, digits] = kParts.exec(String(inAscii(entry))) ?? [];
  if (spelled === undefined) return undefined;
  const name = spelled.toLowerCase().replace(/\.$/, "");
  const labels = name.split(".");
  if (name.length > kLongestName || !labels.every((label) => kLabel.test(label))) return undefined;
  if (kNumber.test(labels.at(-1) ?? "")) return undefined; // an address, in whatever spelling
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && port > kMostPort) return undefined;
  return { pattern: wildcard + name, port };
}

/** In the spelling that is told to the runner. */
export function hostRuleText({ pattern, port }: HostRule): string {
  return port === undefined ? pattern : `${pattern}:${port}`;
}

/** The patterns within which one lies: itself, and the wildcards above it. */
export function patternsAbove(pattern: string): string[] {
  const labels = pattern.split("."); // of a wildcard the first is "*"
  return [pattern, ...labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join(".")}`)];
}

/** Which patterns are allowed on which ports. */
export class AllowedHosts {
  readonly #allowed: ReadonlySet<string>;

  /** @param rules without a port: on the default ports. */
  constructor(rules: readonly HostRule[]) {
    this.#allowed = new Set(
      rules.flatMap(({ pattern, port }) =>
        (port === undefined ? kDefaultPorts : [port]).map((each) => `${pattern}:${each}`),
      ),
    );
  }

  /** Whether every name of the rule, on each of its ports, is allowed by one of ours. */
  covers({ pattern, port }: HostRule): boolean {
    const above = patternsAbove(pattern);
    return (port === undefined ? kDefaultPorts : [port]).every((each) =>
      above.some((wider) => this.#allowed.has(`${wider}:${each}`)),
    );
  }
}
