import { invalidValue } from "../../errors.js";
import { FirejailNativeRunner, kDefaultFirejailReadDirs } from "../../runners/firejail.js";
import { firejailFix } from "../diagnosis/firejail.js";
import { hostPaths, type Mount, samePlace } from "../mounts.js";
import { modeOf } from "../network.js";
import { extended, unlessDefault } from "./default-list.js";
import type { RuntimeKind } from "./kind.js";

/** What a profile of the operator's says of files stands; a mount can only be added to it. */
function mountArgs(mounts: readonly Mount[]): string[] {
  return mounts.map(({ hostPath, mode }) =>
    mode === "rw" ? `--read-write=${hostPath}` : `--read-only=${hostPath}`,
  );
}

/** Firejail: a setuid program with namespaces; we tell it what to hide, or a profile does. */
export const firejailKind: RuntimeKind = {
  name: "firejail",
  title: "Firejail",
  program: "firejail",
  network: (config) => config.network,
  policy: (config) => [config.firejail, config.network, config.required],
  grants: ({ firejail, network }) => ({
    readable: [...firejail.fsReadDirs, ...firejail.fsWriteDirs],
    writable: firejail.fsWriteDirs,
    network: network === "allow",
  }),
  makeRunner: (config, { transaction, ...options }, mounts) => {
    if (transaction !== undefined) {
      throw invalidValue("Firejail can't run commands in a transaction: use another runtime");
    }
    const { firejailPath, profile, fsReadDirs, fsWriteDirs, extraArgs } = config.firejail;
    const here = samePlace(mounts, "Firejail");
    const common = {
      ...options,
      firejailPath,
      network: modeOf(config.network),
      required: config.required,
    };
    if (profile !== null) {
      return new FirejailNativeRunner({
        ...common,
        profile,
        fsReadDirs: unlessDefault(fsReadDirs, kDefaultFirejailReadDirs),
        fsWriteDirs: fsWriteDirs.length === 0 ? undefined : fsWriteDirs,
        extraArgs: [...extraArgs, ...mountArgs(here)],
      });
    }
    return new FirejailNativeRunner({
      ...common,
      fsReadDirs: extended(fsReadDirs, kDefaultFirejailReadDirs, hostPaths(here, "ro")),
      fsWriteDirs: [...fsWriteDirs, ...hostPaths(here, "rw")],
      extraArgs,
    });
  },
  fix: firejailFix,
};
