import { shown } from "./checked.js";

const kMostListed = 8;

/** Names for a message, not all of them where they are many. */
export function listed(names: readonly string[]): string {
  const more = names.length - kMostListed;
  const first = names.slice(0, kMostListed).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}

/** What a caller asked for and can't have. Nothing was run, and nothing was lowered without a word. */
export class Refusal {
  /** Which option or limit: "network.allow[1]", "limits.timeoutMs". */
  readonly field: string;
  /** What was asked for. It came from outside. */
  readonly asked: unknown;
  /** What would do, as the end of a sentence: "at most 60000". */
  readonly allowed: string;
  /** All of it in a sentence, for the caller. */
  readonly message: string;

  /** Whether it is there, as far as the policy looked. Else nobody is to blame, and it may be there later. */
  readonly isFound: boolean;

  /** @param message where it is not about what the policy allows, but about what can be at all. */
  constructor(field: string, asked: unknown, allowed: string, message?: string, isFound = true) {
    this.isFound = isFound;
    this.field = field;
    this.asked = asked;
    this.allowed = allowed;
    this.message =
      message ??
      `Expected \`${field}\` to be ${allowed} by the worker's policy, got ${shown(asked)}`;
  }
}
