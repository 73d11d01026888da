import { FirejailNativeRunner } from "../../runners/firejail.js";
import { firejailFix } from "../diagnosis/firejail.js";
import { type Mount, samePlace } from "../mounts.js";
import type { RuntimeKind } from "./kind.js";

function mountArgs(mounts: readonly Mount[]): string[] {
  return mounts.map(({ hostPath, mode }) =>
    mode === "rw" ? `--read-write=${hostPath}` : `--read-only=${hostPath}`,
  );
}

/** Firejail: a setuid program with namespaces and a seccomp filter of its own. */
export const firejailKind: RuntimeKind = {
  name: "firejail",
  title: "Firejail",
  program: "firejail",
  policy: (config) => [config.firejail, config.network, config.required],
  grants: ({ network }) => ({ readable: [], writable: [], network: network === "allow" }),
  makeRunner: (config, options, mounts) => {
    const { firejailPath, profile, extraArgs } = config.firejail;
    return new FirejailNativeRunner({
      ...options,
      firejailPath,
      profile: profile ?? undefined,
      extraArgs: [...extraArgs, ...mountArgs(samePlace(mounts, "Firejail"))],
      network: config.network,
      required: config.required,
    });
  },
  fix: firejailFix,
};
