/** A network by rules that is provably no wider than another. */

import { kPresets } from "../../../network/presets.js";
import type { NetworkRules, RemoteNetwork } from "../ceiling.js";
import type { WrittenNetwork } from "../policy-schema.js";
import { listed, Refusal } from "../refusal.js";
import { AllowedHosts, type HostRule, hostRuleText, readHostRule } from "./host-rule.js";
import { PrivatePlaces, type PrivateRule, readPrivateRule } from "./private-rule.js";

/** Entries of one list; as many as the runner takes. */
const kMostEntries = 1024;
const kHost = 'a host such as "a.test", "a.test:8443", "*.a.test" or "*.a.test:8443"';
const kPrivate = 'a host without a port, an address, or a block such as "10.0.0.0/8"';

type WrittenRules = Exclude<WrittenNetwork, string>;
type Read = { allow: HostRule[]; deny: HostRule[]; allowPrivate: PrivateRule[] };

function readList<Rule>(
  list: readonly string[] | undefined,
  field: string,
  expected: string,
  read: (entry: string) => Rule | undefined,
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

function readRules(written: WrittenRules): Read | Refusal {
  const allow = readList(written.allow, "network.allow", kHost, readHostRule);
  if (allow instanceof Refusal) return allow;
  const deny = readList(written.deny, "network.deny", kHost, readHostRule);
  if (deny instanceof Refusal) return deny;
  const { allowPrivate: listed, presets = [] } = written;
  const allowPrivate = readList(listed, "network.allowPrivate", kPrivate, readPrivateRule);
  if (allowPrivate instanceof Refusal) return allowPrivate;
  const preset = presets.flatMap((name) => kPresets[name].map(readHostRule));
  return { allow: [...allow, ...preset.filter((rule) => rule !== undefined)], deny, allowPrivate };
}

const texts = (rules: readonly HostRule[]) => [...new Set(rules.map(hostRuleText))];

function rulesOf({ allow, deny, allowPrivate }: Read): NetworkRules {
  return { allow: texts(allow), deny: texts(deny), allowPrivate: allowPrivate.map((r) => r.text) };
}

/** A network in one spelling, with presets expanded; a Refusal where an entry is none. */
export function networkOf(written: WrittenNetwork): RemoteNetwork | Refusal {
  if (typeof written === "string") return written;
  const read = readRules(written);
  return read instanceof Refusal ? read : rulesOf(read);
}

/** Where an entry of the caller's `allow` stands, or which preset has it. */
function placeOf(written: WrittenRules, at: number): string {
  const entries = written.allow?.length ?? 0;
  return at < entries ? `network.allow[${at}]` : "network.presets";
}

function narrowRules(ceiling: NetworkRules, written: WrittenRules): NetworkRules | Refusal {
  const outer = readRules({ ...ceiling } as WrittenRules);
  if (outer instanceof Refusal) return outer; // no ceiling that was read is one
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
  const rules = rulesOf({ ...asked, deny: [...outer.deny, ...asked.deny] });
  if (rules.deny.length > kMostEntries) {
    const left = kMostEntries - texts(outer.deny).length;
    return new Refusal("network.deny", written.deny?.length, `at most ${left} entries`);
  }
  return rules;
}

/** The caller's network, with what the ceiling denies; the ceiling's where none is asked for. */
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
