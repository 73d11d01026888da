import type { RuntimeName } from "../names.js";
import { bubblewrapKind } from "./bubblewrap.js";
import { firejailKind } from "./firejail.js";
import type { RuntimeKind } from "./kind.js";
import { landlockKind } from "./landlock.js";
import { nativeKind } from "./native.js";

/** The runtimes by name. */
export const kKinds: Readonly<Record<RuntimeName, RuntimeKind>> = {
  bubblewrap: bubblewrapKind,
  landlock: landlockKind,
  firejail: firejailKind,
  native: nativeKind,
};
