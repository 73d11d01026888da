/** Placeholders: what commands have in a secret's place. */

import { randomInt } from "node:crypto";

import { invalidValue } from "../errors.js";

const kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** Fewer random characters could be in a request by chance. */
const kLeastRandom = 12;
const kMostBytes = 16 * 1024; // what servers take in a header
/** Of a value that is not known when a command starts. */
const kUnknownLength = 40;

/** Beginnings by which clients check a token before they send it. */
const kPrefixes =
  /^(?:gh[opsur]_|github_pat_|glpat-|npm_|pypi-|sk-(?:ant-|proj-|live_|test_)?|xox[abeoprs]-|hf_|dop_v1_|AIza|Bearer )/;

/** A header's value by RFC 9110, 5.5, of ASCII: what each client and server takes unchanged. */
const kPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Checks a secret's value.
 * @throws TypeError naming `field`, never the value.
 */
export function checkSecretValue(value: string, field: string): void {
  if (!kPlain.test(value)) {
    throw invalidValue(
      `Expected \`${field}\` to be printable ASCII that neither begins nor ends with a blank, got another text`,
    );
  }
  if (value.length < kLeastRandom || value.length > kMostBytes) {
    throw invalidValue(
      `Expected \`${field}\` to have ${kLeastRandom} to ${kMostBytes} characters, got ${value.length}`,
    );
  }
}

function randomText(length: number): string {
  let text = "";
  while (text.length < length) text += kAlphabet[randomInt(kAlphabet.length)];
  return text;
}

/**
 * Makes a placeholder for a value: as long, with the beginning of well-known tokens, otherwise random.
 * @param value undefined if it is not known yet.
 */
export function placeholderFor(value: string | undefined): string {
  if (value === undefined) return randomText(kUnknownLength);
  const prefix = kPrefixes.exec(value)?.[0] ?? "";
  const kept = value.length - prefix.length >= kLeastRandom ? prefix : "";
  return kept + randomText(value.length - kept.length);
}
