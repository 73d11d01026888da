/** The check of a configuration's networks. */

import * as v from "valibot";

import type { NetworkByDomain } from "../../../types/public.js";
import { kPresetNames } from "../../network/presets.js";
import { bare, record } from "./objects.js";

const host = v.pipe(
  v.string("a string"),
  v.nonEmpty("a host name"),
  v.excludes("\0", "a string without NUL"),
);
const hosts = v.optional(v.array(host, "an array of strings"));

/** Fields of a network by domain; what an entry may be the runner says. */
export const kByDomain = {
  allow: hosts,
  deny: hosts,
  allowPrivate: hosts,
  presets: v.optional(v.array(v.picklist(kPresetNames), "an array of presets")),
  onRequest: v.optional(
    v.custom<NonNullable<NetworkByDomain["onRequest"]>>(isFunction, "a function"),
  ),
};

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

const byDomain = v.pipe(
  record,
  v.strictObject(bare(kByDomain)),
  v.check(
    ({ allow, presets, onRequest }) =>
      allow !== undefined || presets !== undefined || onRequest !== undefined,
    'an object with `allow` (or "allow" or "deny")',
  ),
);
const mode = v.picklist(["allow", "deny"]);

/** "allow", "deny", or rules. */
export const network = v.lazy((value) =>
  typeof value === "object" && value !== null ? byDomain : mode,
);
