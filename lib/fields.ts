/**
 * The check of objects that never reach the addon, which checks all that do: what nobody reads is
 * refused, since a field that is ignored may be a protection, misspelled.
 */

import { invalidType, invalidValue } from "./errors.js";
import { suggestion } from "./nearest.js";

/** The names of an object's fields; the compiler sees that none is missing. */
export type FieldsOf<Options> = { readonly [Name in keyof Required<Options>]: true };

const kLongestShown = 200;

/** A TypeError for a field that there is not, worded and coded as the native ones. */
export function unknownField(name: string, place: string, known: readonly string[]): TypeError {
  const shown = JSON.stringify(name.slice(0, kLongestShown));
  const listed = known.map((each) => `\`${each}\``).join(", ");
  const meant = suggestion(name, known) || (listed && `; there are ${listed}`);
  return invalidValue(`Unknown field ${shown} in \`${place}\`${meant}`);
}

/**
 * Looks at the enumerable string keys of the object's own, as the addon does: those that are not
 * `known` must be undefined.
 * @param place what messages call the object.
 * @throws TypeError when it is no object; ERR_INVALID_ARG_VALUE with the nearest name otherwise.
 */
export function expectFields(
  value: unknown,
  place: string,
  known: Readonly<Record<string, true>>,
): void {
  if (typeof value !== "object" || value === null) throw invalidType(place, "an object", value);
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(known, name)) continue;
    if ((value as Record<string, unknown>)[name] === undefined) continue;
    throw unknownField(name, place, Object.keys(known));
  }
}
