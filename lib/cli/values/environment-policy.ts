import type { EnvironmentPolicy } from "../../../types/public.js";
import { nearest } from "../../nearest.js";
import type { Variables } from "../../runtime/environment.js";

const kWords = ["scrub", "inherit", "clean"] as const;

/** A policy, or what is wrong with the text. */
export type ParsedPolicy = { policy: EnvironmentPolicy } | { expected: string };

/**
 * One of the words, or a comma list of names to let through. A single name that looks like a word
 * gone wrong is refused: taken for a variable's, it would pass nothing without a sound.
 *
 * @param host the host's variables: what is set there is a name.
 */
export function parseEnvironmentPolicy(text: string, host: Variables): ParsedPolicy {
  const word = kWords.find((each) => each === text);
  if (word !== undefined) return { policy: word };
  const names = text.split(",");
  if (!names.every((name) => /^[^=\s]+$/.test(name))) {
    return { expected: "scrub, inherit, clean or a comma list of names" };
  }
  const stray = names.find((name) => kWords.some((each) => each === name));
  if (stray !== undefined) return { expected: `names only in a list, and ${stray} by itself` };
  const [only] = names;
  if (names.length > 1 || only === undefined || host[only] !== undefined) return { policy: names };
  const meant = nearest(only, kWords);
  if (meant !== undefined) return { expected: `scrub, inherit or clean (did you mean ${meant}?)` };
  if (/^[a-z]+$/.test(only)) {
    return { expected: `scrub, inherit, clean or names; no variable ${only} is set here` };
  }
  return { policy: names };
}
