/** Reading and copying of runner options; their values are checked by the addon. */

import { invalidType } from "../errors.js";

/**
 * The options' own copy, without a prototype: each is read once, arrays are copied and frozen.
 * @throws TypeError when they are no object.
 */
export function copyOptions<Options extends object>(options: Options): Options {
  if (typeof options !== "object" || options === null) {
    throw invalidType("options", "an object", options);
  }
  const copy: Record<string, unknown> = Object.assign(Object.create(null), options);
  for (const [name, value] of Object.entries(copy)) {
    if (Array.isArray(value)) copy[name] = Object.freeze([...value]);
  }
  return copy as Options;
}
