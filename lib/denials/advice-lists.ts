/** What of this host no grant is to open, for the addon. */

import type { AdviceLists } from "../../types/addon.js";
import { kReadOnlyOfHome, secretsOf } from "../home-lists.js";
import { homes } from "../homes.js";
import { kProtectedNames } from "../protected-names.js";

const kNames = [...kProtectedNames, ...kReadOnlyOfHome];

let last: AdviceLists | undefined;

/** As this user's homes are now: asked for with each explained run, and nearly always the same. */
export function adviceLists(): AdviceLists {
  const now = homes();
  if (last === undefined || last.homes.join() !== now.join()) {
    last = { homes: now, secrets: secretsOf(now), protectedNames: kNames };
  }
  return last;
}
