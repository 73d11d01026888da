/** Reading and copying of runner options; their values are checked by the addon. */

import { invalidType } from "../errors.js";

function frozen(element: unknown): unknown {
  if (typeof element !== "object" || element === null || Array.isArray(element)) return element;
  return Object.freeze(Object.assign(Object.create(null), element));
}

/**
 * The options' own copy, without a prototype: each is read once, arrays and the objects in them are
 * copied and frozen.
 * @throws TypeError when they are no object.
 */
export function copyOptions<Options extends object>(options: Options): Options {
  if (typeof options !== "object" || options === null) {
    throw invalidType("options", "an object", options);
  }
  const copy: Record<string, unknown> = Object.assign(Object.create(null), options);
  for (const [name, value] of Object.entries(copy)) {
    if (Array.isArray(value)) copy[name] = Object.freeze([...value].map(frozen));
  }
  return copy as Options;
}
