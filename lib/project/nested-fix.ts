import { parseRuntimeConfig } from "../runtime/config/parse-config.js";
import { bubblewrapFix } from "../runtime/diagnosis/bubblewrap.js";
import { readHostFacts } from "../runtime/diagnosis/facts.js";
import { nestingSigns } from "./nesting.js";

/** What to do where there is no /proc at all, or only one that can't be written. */
export const kMountProc =
  "let the outer sandbox mount a /proc of its own: `bwrap --unshare-pid --proc /proc`";

/**
 * What bwrap says where /proc can't be written, or is that of another pid namespace, in which the
 * number of its process is another's or nobody's. Which of the two it meets first is chance.
 */
const kProcOfAnother = /uid map: Read-only file system|open \/proc\/\d+\/ns/;

/** The setting of the outer bwrap to change, for what bwrap said inside it. Pure. */
export function outerBwrapFix(reason: string): string | undefined {
  if (kProcOfAnother.test(reason) || /\/proc\/self|mount proc/i.test(reason)) return kMountProc;
  if (/namespaces exceeded|ENOSPC|No space left/i.test(reason)) {
    return "start the outer bwrap without --disable-userns, which forbids sandboxes inside it";
  }
  if (/not permitted|permission denied|No permissions|\/ slave/i.test(reason)) {
    return (
      "start the outer bwrap without --disable-userns, and without a seccomp filter that forbids " +
      "namespaces and mounts"
    );
  }
  return undefined;
}

/** What to do where no sandbox can be made: the outer sandbox's setting, or the host's. */
export function nestedFix(reason: string): string | undefined {
  const isInBwrap = nestingSigns().some((sign) => sign.includes("bwrap"));
  if (isInBwrap || kProcOfAnother.test(reason)) return outerBwrapFix(reason);
  return bubblewrapFix(reason, readHostFacts(), parseRuntimeConfig({}));
}
