import { existsSync } from "node:fs";

import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import type { RuntimeConfig } from "../config/config.js";
import { kDefaultRuntimeBinds } from "../config/config-schema.js";
import { bubblewrapFix } from "../diagnosis/bubblewrap.js";
import { unlessDefault } from "./default-list.js";
import type { RuntimeKind } from "./kind.js";

const networkOf = (config: RuntimeConfig) => config.bubblewrap.network ?? config.network;

function roBinds(config: RuntimeConfig): readonly string[] {
  const named = unlessDefault(config.bubblewrap.roBinds, kDefaultRuntimeBinds);
  return named ?? kDefaultRuntimeBinds.filter((path) => existsSync(path));
}

/** Host paths that mounts among the extra arguments show. */
function shownBy(extraArgs: readonly string[], options: RegExp): string[] {
  return extraArgs.flatMap((word, at) => {
    const source = options.test(word) ? extraArgs[at + 1] : undefined;
    return source === undefined ? [] : [source];
  });
}

/** Bubblewrap: namespaces and mounts; the workspace is at /workspace. */
export const bubblewrapKind: RuntimeKind = {
  name: "bubblewrap",
  title: "Bubblewrap",
  program: "bubblewrap",
  byDomain: true,
  network: networkOf,
  policy: (config) => [config.bubblewrap, networkOf(config), config.required],
  grants: (config) => ({
    readable: [
      ...config.bubblewrap.roBinds,
      ...config.bubblewrap.mounts.map(({ hostPath }) => hostPath),
      ...shownBy(config.bubblewrap.extraArgs, /^--(ro-|dev-)?bind(-try)?$/),
    ],
    writable: [
      ...config.bubblewrap.mounts.flatMap(({ hostPath, mode }) =>
        mode === "rw" ? [hostPath] : [],
      ),
      ...shownBy(config.bubblewrap.extraArgs, /^--(dev-)?bind(-try)?$/),
    ],
    network: networkOf(config) === "allow",
  }),
  makeRunner: (config, options, mounts) => {
    const { bwrapPath, devBind, procBind, allowWriteWorkspace } = config.bubblewrap;
    const { extraArgs, isolation, layers } = config.bubblewrap;
    return new BubblewrapNativeRunner({
      ...options,
      bwrapPath,
      roBinds: roBinds(config),
      mounts: [...config.bubblewrap.mounts, ...mounts],
      network: networkOf(config),
      isolation,
      devBind,
      procBind,
      allowWriteWorkspace,
      extraArgs,
      layers,
      required: config.required,
    });
  },
  fix: bubblewrapFix,
};
