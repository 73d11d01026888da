import { FirejailNativeRunner, kDefaultFirejailReadDirs } from "../../runners/firejail.js";
import { firejailFix } from "../diagnosis/firejail.js";
import { hostPaths, samePlace } from "../mounts.js";
import { extended } from "./default-list.js";
import type { RuntimeKind } from "./kind.js";

/** Firejail: a setuid program with namespaces; we tell it what to hide, or a profile does. */
export const firejailKind: RuntimeKind = {
  name: "firejail",
  title: "Firejail",
  program: "firejail",
  policy: (config) => [config.firejail, config.network, config.required],
  grants: ({ firejail, network }) => ({
    readable: [...firejail.fsReadDirs, ...firejail.fsWriteDirs],
    writable: firejail.fsWriteDirs,
    network: network === "allow",
  }),
  makeRunner: (config, options, mounts) => {
    const { firejailPath, profile, fsReadDirs, fsWriteDirs, extraArgs } = config.firejail;
    const here = samePlace(mounts, "Firejail");
    return new FirejailNativeRunner({
      ...options,
      firejailPath,
      profile: profile ?? undefined,
      fsReadDirs: extended(fsReadDirs, kDefaultFirejailReadDirs, hostPaths(here, "ro")),
      fsWriteDirs: [...fsWriteDirs, ...hostPaths(here, "rw")],
      extraArgs,
      network: config.network,
      required: config.required,
    });
  },
  fix: firejailFix,
};
