// What is to become of one call: its command, and what the caller does to it.

import { kPatienceMs } from "../limits.mjs";
import { kCommands } from "./commands.mjs";
import { kLiveCommands } from "./live-commands.mjs";

const kShortMs = 60; // in which most commands are somewhere between set-up and end
const kEndlessMs = 300;

/** When the caller wants an end: by deadline, by an AbortSignal, or not before the command's own. */
function ends(random, endless) {
  const mostMs = endless ? kEndlessMs : kShortMs;
  const share = endless ? 0.5 : 0.15;
  const drawn = random.fraction();
  if (drawn < share) return { timeoutMs: random.int(1, mostMs) };
  if (drawn < 2 * share) return { timeoutMs: kPatienceMs, abortAfterMs: random.int(0, mostMs) };
  return { timeoutMs: kPatienceMs };
}

export function makePlan(random, token, facts) {
  const command = random.weighted(kCommands);
  const made = command.make(random, token, facts);
  const { input, expected, output, bytes, endless = false } = made;
  const says = endless ? false : (output ?? "") !== "";
  return {
    command: command.name,
    input,
    expected,
    output,
    bytes,
    endless,
    throws: says && random.chance(0.1),
    streams: random.chance(0.2),
    ...ends(random, endless),
  };
}

/** The same for a live process. */
export function makeLivePlan(random, token) {
  const command = random.weighted(kLiveCommands);
  return { command: command.name, ...command.make(random, token), ...ends(random, false) };
}
