import { invalidType, invalidValue } from "../../errors.js";

/**
 * That a value is a text with something in it. What may be a secret is told by its type alone.
 *
 * @throws TypeError that names the field.
 */
export function expectText(value: unknown, field: string): asserts value is string {
  if (typeof value !== "string") throw invalidType(field, "a string", typeof value);
  if (value === "" || value.includes("\0")) {
    throw invalidValue(`Expected \`${field}\` to be a string that is not empty, without NUL`);
  }
}
