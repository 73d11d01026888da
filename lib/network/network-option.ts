/** The option `network` where it may be by domain: read and copied once, presets and names expanded. */

import type { NativeNetwork } from "../../types/addon.js";
import type { BubblewrapNetwork, NetworkByDomain } from "../../types/public.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { suggestion } from "../nearest.js";
import { askerOf } from "./asker.js";
import { inAscii } from "./host-entry.js";
import { kPresetNames, kPresets } from "./presets.js";

const kFields: FieldsOf<NetworkByDomain> = {
  allow: true,
  deny: true,
  allowPrivate: true,
  presets: true,
  onRequest: true,
};

/** An option in two forms: as it was given, copied, and as the addon takes it. */
export type NetworkOption = {
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
