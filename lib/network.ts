/** The option `network` where it may be by domain: read and copied once, presets and names expanded. */

import { isIP } from "node:net";
import { domainToASCII } from "node:url";

import type { NativeNetwork, OnNetworkQuestion } from "../types/addon.js";
import type { BubblewrapNetwork, NetworkByDomain, NetworkPreset } from "../types/public.js";
import { invalidType, invalidValue } from "./errors.js";
import { expectFields, type FieldsOf, suggestion } from "./fields.js";
import { loadAddon } from "./native.js";

const kFields: FieldsOf<NetworkByDomain> = {
  allow: true,
  deny: true,
  allowPrivate: true,
  presets: true,
  onRequest: true,
};

/** An option in two forms: as it was given, copied, and as the addon takes it. */
type NetworkOption = {
  /** For whoever asks the runner, and for the runners that it makes. */
  own: BubblewrapNetwork;
  /** The addon checks what is in the lists. */
  native: NativeNetwork;
};

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

const frozen = <Value>(value: Value): Value =>
  Array.isArray(value) ? (Object.freeze([...value]) as Value) : value;

const named = (list: unknown): unknown => (Array.isArray(list) ? list.map(inAscii) : list);

/**
 * What is no object is left to the addon.
 * @throws TypeError for an unknown field, a wrong preset, and an object that allows nothing and does not
 * say so.
 */
export function networkOption(network: unknown): NetworkOption {
  if (typeof network !== "object" || network === null || Array.isArray(network)) {
    return { own: network as BubblewrapNetwork, native: network as NativeNetwork };
  }
  expectFields(network, "network", kFields);
  const { allow, deny, allowPrivate, presets, onRequest } = network as NetworkByDomain;
  const own: NetworkByDomain = Object.freeze(
    Object.assign(Object.create(null), {
      ...(allow !== undefined && { allow: frozen(allow) }),
      ...(deny !== undefined && { deny: frozen(deny) }),
      ...(allowPrivate !== undefined && { allowPrivate: frozen(allowPrivate) }),
      ...(presets !== undefined && { presets: frozen(presets) }),
      ...(onRequest !== undefined && { onRequest }),
    }),
  );
  const mayBeEmpty = own.presets !== undefined || own.onRequest !== undefined;
  const allowed = own.allow ?? (mayBeEmpty ? [] : undefined);
  const preset = hostsOf(own.presets);
  const native = Object.assign(Object.create(null), {
    allow: Array.isArray(allowed) ? [...allowed.map(inAscii), ...preset] : allowed,
    deny: named(own.deny),
    allowPrivate: named(own.allowPrivate),
    onRequest: typeof onRequest === "function" ? askerOf(onRequest) : onRequest,
  });
  return { own, native };
}

/** Options with the network as the addon takes it: a copy, without a prototype as they are. */
export function withNetwork<Options extends { network?: BubblewrapNetwork | undefined }>(
  options: Options,
  network: NativeNetwork = networkOption(options.network).native,
): Omit<Options, "network"> & { network?: NativeNetwork | undefined } {
  const copy = Object.assign(Object.create(null), options);
  if (network !== undefined) copy.network = network;
  return copy;
}

/** The way of a network's question to `onRequest`, and of its answer back. */

type OnRequest = NonNullable<NetworkByDomain["onRequest"]>;

/**
 * `onRequest` as the addon calls it: it throws nothing, and what is no answer (an exception, a rejection,
 * another value) is said to be none, which is a denial. The time that an answer has is counted natively.
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
/** Beside what IDNA is about, the characters of a plain name: all else the addon is to refuse as it is. */
const kMaybeName = /^[-._A-Za-z0-9\u{80}-\u{10ffff}]+$/u;
const kAscii = /^[\0-\x7f]*$/;

/**
 * An entry of a list of hosts with an international name as its A-labels, which is what programs ask
 * for. Anything else as it is: the addon knows what is a name, and says what is none. Pure.
 */
export function inAscii(entry: unknown): unknown {
  if (typeof entry !== "string" || kAscii.test(entry)) return entry;
  const [, wildcard = "", name = "", port = ""] = kParts.exec(entry) ?? [];
  if (!kMaybeName.test(name)) return entry;
  const ascii = domainToASCII(name);
  return ascii === "" || isIP(ascii) !== 0 ? entry : `${wildcard}${ascii}${port}`;
}

/** The hosts that package managers and forges need. Listed in docs/network.md. */

/**
 * What each preset adds to `allow`. Plain names, since whoever can make a name below a wildcard could
 * be reached by it; port 443 alone wherever nothing else is needed.
 */
export const kPresets: Readonly<Record<NetworkPreset, readonly string[]>> = Object.freeze({
  // The registry, the name that old lock files of yarn have for it, and the headers of node-gyp.
  npm: ["registry.npmjs.org:443", "registry.yarnpkg.com:443", "nodejs.org:443"],
  // The index, and the files that it names.
  pypi: ["pypi.org:443", "files.pythonhosted.org:443"],
  // git over https and ssh, archives, raw files, and the files of releases and of LFS; not the API.
  github: [
    "github.com:443",
    "github.com:22",
    "codeload.github.com:443",
    "raw.githubusercontent.com:443",
    "objects.githubusercontent.com:443",
    "release-assets.githubusercontent.com:443",
    "github-cloud.githubusercontent.com:443",
  ],
  // Packages are signed, and the usual lists of sources name http.
  debian: ["deb.debian.org", "security.debian.org"],
  // The sparse index, the files, and the host that older versions of cargo ask for them.
  crates: ["index.crates.io:443", "static.crates.io:443", "crates.io:443"],
  // The module proxy and the checksum database; GOPROXY=direct asks each module's own host instead.
  go: ["proxy.golang.org:443", "sum.golang.org:443"],
});

/** The names of the presets. */
export const kPresetNames = Object.freeze(Object.keys(kPresets)) as readonly NetworkPreset[];
