/** What a runtime lets a command read and write, in words. Pure. */

import type { RuntimeConfig } from "../../runtime/config/config.js";
import type { RuntimeName } from "../../runtime/names.js";

/** Two texts. */
export type Access = { writes: string; reads: string };

/** "none", or the list without what comes twice. */
export const listed = (list: readonly string[]) =>
  list.length === 0 ? "none" : [...new Set(list)].join(" ");

/** The mounts with one of the modes, each with its place where that is another. */
function mounted({ mounts }: RuntimeConfig["bubblewrap"], mode: "ro" | "rw"): string[] {
  return mounts
    .filter((mount) => mount.mode === mode)
    .map(({ hostPath, guestPath = hostPath }) =>
      guestPath === hostPath ? hostPath : `${hostPath} (at ${guestPath})`,
    );
}

/**
 * @param workspace a real path.
 * @param inTransaction whether what is written in it waits in a transaction; Bubblewrap's only.
 */
export function accessOf(
  name: RuntimeName,
  config: RuntimeConfig,
  workspace: string,
  inTransaction = false,
): Access {
  const { bubblewrap, landlock, firejail } = config;
  switch (name) {
    case "bubblewrap": {
      const { allowWriteWorkspace, roBinds } = bubblewrap;
      const writable = mounted(bubblewrap, "rw");
      const written = allowWriteWorkspace
        ? [`${workspace} (at /workspace${inTransaction ? ", in a transaction" : ""})`, ...writable]
        : writable;
      const rest = allowWriteWorkspace ? "" : `; ${workspace} (at /workspace) is read-only`;
      return {
        writes: `${written.map((path) => `${path}, `).join("")}${written.length > 0 ? "and " : ""}a private /tmp${rest}`,
        reads: `${listed([...roBinds, ...mounted(bubblewrap, "ro")])}; a private /proc and /dev`,
      };
    }
    case "landlock": {
      const written = landlock.allowWriteWorkspace ? [workspace] : [];
      const read = landlock.allowReadWorkspace ? [workspace] : [];
      return {
        writes: listed([...written, ...landlock.fsWriteDirs]),
        reads: listed([...read, ...landlock.fsReadDirs, ...landlock.fsWriteDirs]),
      };
    }
    case "firejail":
      if (firejail.profile !== null) {
        const reads = `${workspace}, and what the profile ${firejail.profile} says`;
        return { writes: reads, reads };
      }
      return {
        writes: `${listed([workspace, ...firejail.fsWriteDirs])}, and a private /tmp`,
        reads: listed([workspace, ...firejail.fsReadDirs, ...firejail.fsWriteDirs]),
      };
    case "native":
      return { writes: "all that this user can: NO sandbox", reads: "all that this user can" };
  }
}
