import {
  kDefaultReadDirs,
  kDefaultWriteDirs,
  LandlockNativeRunner,
} from "../../runners/landlock.js";
import { landlockFix } from "../diagnosis/landlock.js";
import { hostPaths, samePlace } from "../mounts.js";
import { modeOf } from "../network.js";
import { extended } from "./default-list.js";
import type { RuntimeKind } from "./kind.js";

/** Landlock: rules of the kernel on the host's own paths; needs no program. */
export const landlockKind: RuntimeKind = {
  name: "landlock",
  title: "Landlock",
  network: (config) => config.network,
  policy: (config) => [config.landlock, config.network, config.required],
  grants: ({ landlock, network }) => ({
    readable: [...landlock.fsReadDirs, ...landlock.fsWriteDirs],
    writable: landlock.fsWriteDirs,
    network: network === "allow",
  }),
  makeRunner: (config, options, mounts) => {
    const { fsReadDirs, fsWriteDirs, allowReadWorkspace, allowWriteWorkspace } = config.landlock;
    const here = samePlace(mounts, "Landlock");
    const writable = hostPaths(here, "rw");
    return new LandlockNativeRunner({
      ...options,
      fsReadDirs: extended(fsReadDirs, kDefaultReadDirs, [...hostPaths(here, "ro"), ...writable]),
      fsWriteDirs: extended(fsWriteDirs, kDefaultWriteDirs, writable),
      allowReadWorkspace,
      allowWriteWorkspace,
      network: modeOf(config.network),
      required: config.required,
    });
  },
  fix: landlockFix,
};
