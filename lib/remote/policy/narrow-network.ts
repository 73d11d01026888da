/** Narrows network rules: the result provably allows no more than the ceiling. */

import { BlockList, isIP, isIPv4 } from "node:net";

import { hostPortText, inAscii, kPresets } from "../../network.js";
import type { NetworkRules, RemoteNetwork } from "./ceiling.js";
import { listed, Refusal } from "./checked.js";
import type { WrittenNetwork } from "./policy-schema.js";

/** Most entries of one list, as in the runner. */
const kMostEntries = 1024;
const kHost = 'a host such as "a.test", "a.test:8443", "*.a.test" or "*.a.test:8443"';
const kHostPort = 'a port such as 5432, "127.0.0.1:5432" or "[::1]:5432"';
const kPrivate = 'a host without a port, an address, or a block such as "10.0.0.0/8"';

type WrittenRules = Exclude<WrittenNetwork, string>;
type Read = {
  allow: HostRule[];
  deny: HostRule[];
  allowPrivate: PrivateRule[];
  hostPorts: string[];
};

function readList<Entry, Rule>(
  list: readonly Entry[] | undefined,
  field: string,
  expected: string,
  read: (entry: Entry) => Rule | undefined,
): Rule[] | Refusal {
  const rules: Rule[] = [];
  for (const [at, entry] of (list ?? []).entries()) {
    const rule = read(entry);
    if (rule === undefined) {
      const place = `${field}[${at}]`;
      const message = `Expected \`${place}\` to be ${expected}, got ${JSON.stringify(entry)}`;
      return new Refusal(place, entry, expected, message);
    }
    rules.push(rule);
  }
  return rules;
}

/** Returns an entry whose port another entry has with another address, as the addon refuses it. */
function portTakenTwice(hostPorts: readonly string[]): string | undefined {
  const portOf = (text: string) => text.slice(text.lastIndexOf(":"));
  return hostPorts.find((one) =>
    hostPorts.some((other) => portOf(one) === portOf(other) && one !== other),
  );
}

function readRules(written: WrittenRules): Read | Refusal {
  const allow = readList(written.allow, "network.allow", kHost, readHostRule);
  if (allow instanceof Refusal) return allow;
  const deny = readList(written.deny, "network.deny", kHost, readHostRule);
  if (deny instanceof Refusal) return deny;
  const hostPorts = readList(written.hostPorts, "network.hostPorts", kHostPort, hostPortText);
  if (hostPorts instanceof Refusal) return hostPorts;
  const taken = portTakenTwice(hostPorts);
  if (taken !== undefined) {
    return new Refusal("network.hostPorts", taken, "one address for each port");
  }
  const { allowPrivate: listed, presets = [] } = written;
  const allowPrivate = readList(listed, "network.allowPrivate", kPrivate, readPrivateRule);
  if (allowPrivate instanceof Refusal) return allowPrivate;
  const preset = presets.flatMap((name) => kPresets[name].map(readHostRule));
  const presetRules = preset.filter((rule) => rule !== undefined);
  return { allow: [...allow, ...presetRules], deny, allowPrivate, hostPorts };
}

const texts = (rules: readonly HostRule[]) => [...new Set(rules.map(hostRuleText))];

function rulesOf({ allow, deny, allowPrivate, hostPorts }: Read): NetworkRules {
  return {
    allow: texts(allow),
    deny: texts(deny),
    allowPrivate: allowPrivate.map((r) => r.text),
    ...(hostPorts.length > 0 && { hostPorts: [...new Set(hostPorts)] }),
  };
}

/** Returns a network in normalised spelling with presets expanded, or a Refusal for a malformed entry. */
export function networkOf(written: WrittenNetwork): RemoteNetwork | Refusal {
  if (typeof written === "string") return written;
  const read = readRules(written);
  return read instanceof Refusal ? read : rulesOf(read);
}

/** Returns the field of an entry of the caller's `allow`, or of the presets. */
function placeOf(written: WrittenRules, at: number): string {
  const entries = written.allow?.length ?? 0;
  return at < entries ? `network.allow[${at}]` : "network.presets";
}

function narrowRules(ceiling: NetworkRules, written: WrittenRules): NetworkRules | Refusal {
  const outer = readRules({ ...ceiling } as WrittenRules);
  if (outer instanceof Refusal) return outer; // unreachable: a ceiling's rules were already read once
  const asked = readRules(written);
  if (asked instanceof Refusal) return asked;
  const allowed = new AllowedHosts(outer.allow);
  const at = asked.allow.findIndex((rule) => !allowed.covers(rule));
  const wider = asked.allow[at];
  if (wider !== undefined) {
    const within = listed(ceiling.allow) || "no host";
    return new Refusal(placeOf(written, at), hostRuleText(wider), `within ${within}`);
  }
  const places = new PrivatePlaces(outer.allowPrivate);
  const privateAt = asked.allowPrivate.findIndex((rule) => !places.covers(rule));
  const leaking = asked.allowPrivate[privateAt];
  if (leaking !== undefined) {
    const within = listed(ceiling.allowPrivate);
    const allowedHere = within === "" ? "left out" : `within ${within}`;
    return new Refusal(`network.allowPrivate[${privateAt}]`, leaking.text, allowedHere);
  }
  const portAt = asked.hostPorts.findIndex((port) => !outer.hostPorts.includes(port));
  const opening = asked.hostPorts[portAt];
  if (opening !== undefined) {
    const within = listed(outer.hostPorts);
    const allowedHere = within === "" ? "left out" : `within ${within}`;
    return new Refusal(`network.hostPorts[${portAt}]`, opening, allowedHere);
  }
  const rules = rulesOf({ ...asked, deny: [...outer.deny, ...asked.deny] });
  if (rules.deny.length > kMostEntries) {
    const left = kMostEntries - texts(outer.deny).length;
    return new Refusal("network.deny", written.deny?.length, `at most ${left} entries`);
  }
  return rules;
}

/** Returns the caller's network with the ceiling's `deny` entries added, or the ceiling's when none is requested. */
export function narrowNetwork(
  ceiling: RemoteNetwork,
  asked: WrittenNetwork | undefined,
): RemoteNetwork | Refusal {
  if (asked === undefined) return ceiling;
  if (asked === "deny" || ceiling === "allow") return networkOf(asked);
  if (ceiling === "deny") return new Refusal("network", asked, '"deny"');
  if (asked === "allow") return new Refusal("network", asked, '"deny", or rules by domain');
  return narrowRules(ceiling, asked);
}

/** Entries of `allowPrivate`: hosts without a port, or blocks of addresses. */

/** A block of addresses; a single address is a block of full length. */
type Block = { address: string; length: number; family: "ipv4" | "ipv6" };

/** One entry, in normalised spelling. */
type PrivateRule = { text: string; block?: Block; pattern?: string };

const kLength = /^(0|[1-9]\d{0,2})$/;

function subnet({ address, length, family }: Block): BlockList {
  const list = new BlockList();
  list.addSubnet(address, length, family);
  return list;
}

/** True for an IPv6 address that maps an IPv4 one: the addon treats it as IPv4, so it has to be written as such. */
function isMapped(address: string): boolean {
  return new URL(`http://[${address}]`).hostname.startsWith("[::ffff:");
}

function readBlock(text: string): Block | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || address.includes("%")) return undefined;
  if (family === 6 && isMapped(address)) return undefined;
  const width = family === 4 ? 32 : 128;
  if (length !== undefined && (!kLength.test(length) || Number(length) > width)) return undefined;
  return {
    address: address.toLowerCase(),
    length: length === undefined ? width : Number(length),
    family: isIPv4(address) ? "ipv4" : "ipv6",
  };
}

/** Parses an entry; undefined if it is malformed. The addon rejects blocks with host bits set. */
function readPrivateRule(entry: string): PrivateRule | undefined {
  const block = readBlock(entry);
  if (block !== undefined) return { text: entry.toLowerCase(), block };
  const rule = readHostRule(entry);
  if (rule === undefined || rule.port !== undefined) return undefined;
  return { text: rule.pattern, pattern: rule.pattern };
}

/** The destinations that several entries together allow. */
class PrivatePlaces {
  readonly #patterns: ReadonlySet<string>;
  readonly #blocks: readonly { block: Block; list: BlockList }[];

  constructor(rules: readonly PrivateRule[]) {
    this.#patterns = new Set(rules.flatMap(({ pattern }) => pattern ?? []));
    this.#blocks = rules.flatMap(({ block }) => (block ? [{ block, list: subnet(block) }] : []));
  }

  /** True if an entry here covers every destination of the rule, for the same names. */
  covers({ block, pattern }: PrivateRule): boolean {
    if (pattern !== undefined) {
      return patternsAbove(pattern).some((wider) => this.#patterns.has(wider));
    }
    if (block === undefined) return false;
    return this.#blocks.some(({ block: wider, list }) => {
      if (wider.family !== block.family || wider.length > block.length) return false;
      return list.check(block.address, block.family);
    });
  }
}

/** Entries of host lists in normalised spelling, and which entry covers which. */

/** Ports of an `allow` entry without a port; equal to the addon's kDefaultPorts. */
export const kDefaultPorts: readonly number[] = Object.freeze([80, 443]);

/** A parsed entry: "host", "host:port", "*.domain" or "*.domain:port". */
type HostRule = {
  /** In lower case ASCII, without a trailing dot. */
  pattern: string;
  /** Undefined: the default ports of the list. */
  port: number | undefined;
};

const kParts = /^(\*\.)?([^:*/[\]]+?)(?::([1-9]\d{0,4}))?$/;
const kLabel = /^[a-z0-9_][a-z0-9_-]{0,62}$/;
const kNumber = /^(\d+|0x[0-9a-f]*)$/;
const kMostPort = 65_535;
const kLongestName = 253;

/** Parses an entry as the addon does; undefined for an entry that the addon rejects or might read differently. */
function readHostRule(entry: string): HostRule | undefined {
  const [, wildcard = "", spelled, digits] = kParts.exec(String(inAscii(entry))) ?? [];
  if (spelled === undefined) return undefined;
  const name = spelled.toLowerCase().replace(/\.$/, "");
  const labels = name.split(".");
  if (name.length > kLongestName || !labels.every((label) => kLabel.test(label))) return undefined;
  if (kNumber.test(labels.at(-1) ?? "")) return undefined; // an address in any notation
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && port > kMostPort) return undefined;
  return { pattern: wildcard + name, port };
}

/** Returns the text of an entry in the form given to the runner. */
function hostRuleText({ pattern, port }: HostRule): string {
  return port === undefined ? pattern : `${pattern}:${port}`;
}

/** Returns the patterns that cover a pattern: itself, and the wildcards above it. */
function patternsAbove(pattern: string): string[] {
  const labels = pattern.split("."); // the first label of a wildcard is "*"
  return [pattern, ...labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join(".")}`)];
}

/** A set of allowed patterns with their ports. */
class AllowedHosts {
  readonly #allowed: ReadonlySet<string>;

  /** @param rules a rule without a port applies to the default ports */
  constructor(rules: readonly HostRule[]) {
    this.#allowed = new Set(
      rules.flatMap(({ pattern, port }) =>
        (port === undefined ? kDefaultPorts : [port]).map((each) => `${pattern}:${each}`),
      ),
    );
  }

  /** True if every name of the rule, on each of its ports, is allowed by an entry here. */
  covers({ pattern, port }: HostRule): boolean {
    const above = patternsAbove(pattern);
    return (port === undefined ? kDefaultPorts : [port]).every((each) =>
      above.some((wider) => this.#allowed.has(`${wider}:${each}`)),
    );
  }
}
