import { bubblewrapFix } from "../runtime/diagnosis/bubblewrap.js";
import { readHostFacts } from "../runtime/diagnosis/facts.js";
import { parseRuntimeConfig } from "../runtime/parse-config.js";
import { nestingSigns } from "./nesting.js";

/** The setting of the outer sandbox to change, for what bwrap said inside it. Pure. */
export function outerBwrapFix(reason: string): string | undefined {
  if (/max_\*?_?\w*namespaces exceeded|ENOSPC|No space left/i.test(reason)) {
    return "start the outer bwrap without --disable-userns, which forbids sandboxes inside it";
  }
  if (/\/proc\b|mount proc/i.test(reason)) {
    return "start the outer bwrap with `--proc /proc`: without a /proc nothing can be nested in it";
  }
  if (/not permitted|permission denied|uid map|No permissions|\/ slave|setting up/i.test(reason)) {
    return (
      "start the outer bwrap without --disable-userns, and without a seccomp filter that forbids " +
      "namespaces and mounts"
    );
  }
  return undefined;
}

/** What to do where no sandbox can be made: the outer sandbox's setting, or the host's. */
export function nestedFix(reason: string): string | undefined {
  const inBwrap = nestingSigns().some((sign) => sign.includes("bwrap"));
  if (inBwrap) return outerBwrapFix(reason);
  return bubblewrapFix(reason, readHostFacts(), parseRuntimeConfig({}));
}
