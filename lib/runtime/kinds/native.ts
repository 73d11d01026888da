import { invalidValue } from "../../errors.js";
import { LocalNativeRunner } from "../../runners/local.js";
import { samePlace } from "../mounts.js";
import type { RuntimeKind } from "./kind.js";

/** No sandbox: limits, deadline, record and the end of all processes only. */
export const nativeKind: RuntimeKind = {
  name: "native",
  title: "Native",
  // The host's, whatever is configured; but rules are asked for by those who rely on them.
  network: ({ network, bubblewrap }) =>
    [network, bubblewrap.network].find((each) => typeof each === "object") ?? "allow",
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
