/** What of this host no grant is to open, for the addon. */

import type { AdviceLists } from "../../types/addon.js";
import { defaultSecrets, homes, kReadOnlyOfHome } from "../home-lists.js";
import { kProtectedNames } from "../protected-names.js";

/** As this user's homes are now. */
export function adviceLists(): AdviceLists {
  return {
    homes: homes(),
    secrets: defaultSecrets(),
    protectedNames: [...kProtectedNames, ...kReadOnlyOfHome],
  };
}
