import { nestingSigns } from "../../project/nesting.js";
import { nestingFor } from "../../project/project-runner.js";
import type { RuntimeConfig } from "../../runtime/config/config.js";
import { withFolder } from "./temporary-folder.js";

/** What being inside another sandbox comes to. */
export type DoctorNesting = {
  nested: boolean;
  /** What shows it. */
  signs: string[];
  /** "private", or the outer sandbox's, read-only ("host"); null where no sandbox can be made. */
  proc: "private" | "host" | null;
  reason?: string;
  fix?: string;
};

/** Tries a sandbox inside the one that this process may be in. */
export async function examineNesting(config: RuntimeConfig): Promise<DoctorNesting> {
  const signs = nestingSigns();
  const found = { nested: signs.length > 0, signs };
  try {
    const nesting = await withFolder((folder) =>
      nestingFor({
        bwrapPath: config.bubblewrap.bwrapPath,
        folders: [folder],
        projects: [folder],
        secrets: [],
        readOnly: [],
        network: "deny",
      }),
    );
    if (nesting.possible) return { ...found, proc: nesting.flags.hostProc ? "host" : "private" };
    const { reason, fix } = nesting;
    return { ...found, proc: null, reason, ...(fix === undefined ? {} : { fix }) };
  } catch (error) {
    return { ...found, proc: null, reason: error instanceof Error ? error.message : String(error) };
  }
}
