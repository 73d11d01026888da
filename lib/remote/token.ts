/** Names that are tokens of a subject: of pools, tenants and workers. */

import { invalidValue } from "../errors.js";

const kToken = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether a text can be such a name: nothing that is a wildcard, a separator, or ends the token. */
export function isToken(text: unknown): text is string {
  return typeof text === "string" && kToken.test(text);
}

/** @throws TypeError that names the field. */
export function expectToken(value: unknown, field: string): asserts value is string {
  if (isToken(value)) return;
  const got = JSON.stringify(String(value).slice(0, 100));
  throw invalidValue(
    `Expected \`${field}\` to be a name of 1 to 64 letters, digits, hyphens and underscores, got ${got}`,
  );
}
