/**
 * Reads the option `network`, which may be by domain: copies it once, expands presets and international
 * names.
 */

import { isIP } from "node:net";
import { domainToASCII } from "node:url";

import type { NativeNetwork, OnNetworkQuestion } from "../types/addon.js";
import type { BubblewrapNetwork, NetworkByDomain, NetworkPreset, Secret } from "../types/public.js";
import { invalidType, invalidValue } from "./errors.js";
import { expectFields, type FieldsOf, suggestion } from "./fields.js";
import { loadAddon } from "./native.js";
import { secretsPolicy } from "./secrets/policy.js";
import { RunnerSecrets } from "./secrets/runner-secrets.js";

const kFields: FieldsOf<NetworkByDomain> = {
  allow: true,
  deny: true,
  allowPrivate: true,
  hostPorts: true,
  presets: true,
  onRequest: true,
  secrets: true,
  http: true,
};

/** The option in two forms: a copy of the given value, and the form for the addon. */
type NetworkOption = {
  /** For callers that read the runner's option, and for runners derived from it. */
  own: BubblewrapNetwork;
  /** The addon checks the elements of the lists. */
  native: NativeNetwork;
  /** Of its secrets and rules for requests; undefined: it has none. */
  secrets: RunnerSecrets | undefined;
};

/** The options of runners, by their copies: what derives from a runner shares its secrets' authority. */
const known = new WeakMap<object, NetworkOption>();

/** A copy for readers of a runner, without values: it may be printed. */
const withoutValues = (secrets: readonly Secret[]): readonly Omit<Secret, "value">[] =>
  Object.freeze(secrets.map(({ value: _, ...rest }) => Object.freeze({ ...rest })));

function hostsOf(presets: unknown): string[] {
  if (presets === undefined) return [];
  if (!Array.isArray(presets)) {
    throw invalidType("network.presets", "an array of presets", presets);
  }
  return presets.flatMap((name, at) => {
    if (typeof name === "string" && Object.hasOwn(kPresets, name)) {
      return kPresets[name as keyof typeof kPresets];
    }
    if (typeof name !== "string") throw invalidType(`network.presets[${at}]`, "a string", name);
    const expected = `one of ${kPresetNames.join(", ")}`;
    const got = JSON.stringify(name.slice(0, 200));
    const meant = suggestion(name, kPresetNames);
    throw invalidValue(`Expected \`network.presets[${at}]\` to be ${expected}, got ${got}${meant}`);
  });
}

/** Returns the entries as text, which the addon reads: a number in the way it is written. */
function portsOf(hostPorts: unknown): string[] | undefined {
  if (hostPorts === undefined) return undefined;
  if (!Array.isArray(hostPorts)) {
    const expected = "an array of ports of the host's loopback";
    throw invalidType("network.hostPorts", expected, hostPorts);
  }
  return hostPorts.map((entry, at) => {
    if (typeof entry === "number" || typeof entry === "string") return String(entry);
    throw invalidType(`network.hostPorts[${at}]`, "a number or a string", entry);
  });
}

const frozen = <Value>(value: Value): Value =>
  Array.isArray(value) ? (Object.freeze([...value]) as Value) : value;

const named = (list: unknown): unknown => (Array.isArray(list) ? list.map(inAscii) : list);

/**
 * Leaves any value that is not an object to the addon.
 * @throws TypeError for an unknown field, a wrong preset, and an object that implicitly allows nothing.
 */
export function networkOption(network: unknown): NetworkOption {
  if (typeof network !== "object" || network === null || Array.isArray(network)) {
    const [own, native] = [network as BubblewrapNetwork, network as NativeNetwork];
    return { own, native, secrets: undefined };
  }
  const taken = known.get(network);
  if (taken !== undefined) return taken;
  expectFields(network, "network", kFields);
  const { allow, deny, allowPrivate, hostPorts, presets, onRequest, secrets, http } =
    network as NetworkByDomain;
  const policy = secretsPolicy({ secrets, http });
  const own: NetworkByDomain = Object.freeze(
    Object.assign(Object.create(null), {
      ...(allow !== undefined && { allow: frozen(allow) }),
      ...(deny !== undefined && { deny: frozen(deny) }),
      ...(allowPrivate !== undefined && { allowPrivate: frozen(allowPrivate) }),
      ...(hostPorts !== undefined && { hostPorts: frozen(hostPorts) }),
      ...(presets !== undefined && { presets: frozen(presets) }),
      ...(onRequest !== undefined && { onRequest }),
      ...(secrets !== undefined && { secrets: withoutValues(secrets) }),
      ...(http !== undefined && { http: frozen(http) }),
    }),
  );
  const mayBeEmpty = [own.presets, own.hostPorts, own.onRequest].some((each) => each !== undefined);
  const allowed = own.allow ?? (mayBeEmpty ? [] : undefined);
  const preset = hostsOf(own.presets);
  const native = Object.assign(Object.create(null), {
    allow: Array.isArray(allowed) ? [...allowed.map(inAscii), ...preset] : allowed,
    deny: named(own.deny),
    allowPrivate: named(own.allowPrivate),
    hostPorts: portsOf(own.hostPorts),
    onRequest: typeof onRequest === "function" ? askerOf(onRequest) : onRequest,
  });
  const runnerSecrets = policy && new RunnerSecrets(policy, onRequest);
  if (runnerSecrets !== undefined) native.termination = runnerSecrets.termination();
  const option = { own, native, secrets: runnerSecrets };
  known.set(own, option);
  return option;
}

/** Returns a copy of the options, without a prototype, with the network in the addon's form. */
export function withNetwork<Options extends { network?: BubblewrapNetwork | undefined }>(
  options: Options,
  network: NativeNetwork = networkOption(options.network).native,
): Omit<Options, "network"> & { network?: NativeNetwork | undefined } {
  const copy = Object.assign(Object.create(null), options);
  if (network !== undefined) copy.network = network;
  return copy;
}

/** Passes a network's question to `onRequest`, and its answer back. */

type OnRequest = NonNullable<NetworkByDomain["onRequest"]>;

/**
 * Returns `onRequest` in the form that the addon calls: it never throws, and reports an invalid answer (an
 * exception, a rejection, another value) as "none", which is a denial. The time limit of an answer is
 * enforced natively.
 */
export function askerOf(
  onRequest: OnRequest,
  answer: (question: number, said: "allow" | "deny" | "none") => void = (question, said) =>
    loadAddon().answerNetworkQuestion(question, said),
): OnNetworkQuestion {
  const open = new Map<number, AbortController>();
  return (id, question) => {
    if (question === undefined) {
      const gone = open.get(id);
      open.delete(id);
      gone?.abort();
      return;
    }
    const controller = new AbortController();
    open.set(id, controller);
    const settle = (said: unknown) => {
      if (open.delete(id)) answer(id, said === "allow" || said === "deny" ? said : "none");
    };
    const ask = async () => onRequest({ ...question, signal: controller.signal });
    ask().then(settle, () => settle(undefined));
  };
}

const kParts = /^(\*\.)?(.*?)(:\d*)?$/su;
/** Characters of a plain name, plus those that IDNA covers; the addon refuses all other text unchanged. */
const kMaybeName = /^[-._A-Za-z0-9\u{80}-\u{10ffff}]+$/u;
const kAscii = /^[\0-\x7f]*$/;

/**
 * Returns a list entry with its international name converted to A-labels, which programs ask for. Any other
 * value is returned unchanged: the addon validates names. Pure.
 */
export function inAscii(entry: unknown): unknown {
  if (typeof entry !== "string" || kAscii.test(entry)) return entry;
  const [, wildcard = "", name = "", port = ""] = kParts.exec(entry) ?? [];
  if (!kMaybeName.test(name)) return entry;
  const ascii = domainToASCII(name);
  return ascii === "" || isIP(ascii) !== 0 ? entry : `${wildcard}${ascii}${port}`;
}

const kHostPort = /^(?:(127(?:\.\d{1,3}){3}|\[::1\]):)?([1-9]\d{0,4})$/;
/** DNS and the proxy of each sandbox. */
const kOwnPorts: readonly number[] = [53, 3128];

/**
 * Returns an entry of `hostPorts` in its canonical spelling, "127.0.0.1:5432" or "[::1]:5432"; undefined for
 * one that the addon refuses. Pure.
 */
export function hostPortText(entry: number | string): string | undefined {
  const [, address = "127.0.0.1", digits = ""] = kHostPort.exec(String(entry)) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535 || kOwnPorts.includes(port)) return undefined;
  if (address !== "[::1]" && isIP(address) !== 4) return undefined;
  return `${address}:${port}`;
}

/** The hosts that package managers and forges need, listed in docs/network.md. */

/**
 * The entries that each preset adds to `allow`. Plain names, since anyone who can create a name below a
 * wildcard could be reached through it; port 443 only, unless another is needed.
 */
export const kPresets: Readonly<Record<NetworkPreset, readonly string[]>> = Object.freeze({
  // The registry, its name in old lock files of yarn, and the headers for node-gyp.
  npm: ["registry.npmjs.org:443", "registry.yarnpkg.com:443", "nodejs.org:443"],
  // The index, and the host of the files that it names.
  pypi: ["pypi.org:443", "files.pythonhosted.org:443"],
  // git over https and ssh, archives, raw files, and files of releases and LFS; not the API.
  github: [
    "github.com:443",
    "github.com:22",
    "codeload.github.com:443",
    "raw.githubusercontent.com:443",
    "objects.githubusercontent.com:443",
    "release-assets.githubusercontent.com:443",
    "github-cloud.githubusercontent.com:443",
  ],
  // Packages are signed, and the usual source lists use http.
  debian: ["deb.debian.org", "security.debian.org"],
  // The sparse index, the files, and the host that older versions of cargo use for them.
  crates: ["index.crates.io:443", "static.crates.io:443", "crates.io:443"],
  // The module proxy and the checksum database; GOPROXY=direct asks each module's own host instead.
  go: ["proxy.golang.org:443", "sum.golang.org:443"],
});

/** The names of all presets. */
export const kPresetNames = Object.freeze(Object.keys(kPresets)) as readonly NetworkPreset[];
