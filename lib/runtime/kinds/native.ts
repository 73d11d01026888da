import { invalidValue } from "../../errors.js";
import { LocalNativeRunner } from "../../runners/local.js";
import { samePlace } from "../mounts.js";
import type { RuntimeKind } from "./kind.js";

/** No sandbox: limits, deadline, record and the end of all processes only. */
export const nativeKind: RuntimeKind = {
  name: "native",
  title: "Native",
  policy: () => [],
  grants: () => undefined,
  makeRunner: (_config, options, mounts) => {
    for (const { hostPath, mode } of samePlace(mounts, "The native runtime")) {
      if (mode === "rw") continue;
      throw invalidValue(`the native runtime can't keep ${hostPath} from being written`);
    }
    return new LocalNativeRunner(options);
  },
};
