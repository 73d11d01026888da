import type { WorkspaceSurvey } from "../../../../types/addon-files.js";
import { loadAddon } from "../../../native.js";
import type { Bounds } from "../content/manifest.js";
import { kTop } from "../content/paths.js";
import { kStampWords, type Stamp } from "../content/stamp.js";
import { WorkspaceError } from "../workspace-error.js";

const kTypeBits = 0o170000;
const kTypes: ReadonlyMap<number, "file" | "directory" | "symlink"> = new Map([
  [0o100000, "file"],
  [0o040000, "directory"],
  [0o120000, "symlink"],
]);
/** What a commit of a transaction keeps in a workspace for a moment. */
const kAside = /^\.native-runner-aside-/;

/** What was seen of an entry. */
export type Seen = {
  readonly path: string;
  /** "other": a FIFO, a socket or a device. */
  readonly type: "file" | "directory" | "symlink" | "other";
  readonly stamp: Stamp;
  readonly target: string;
};

/** What a workspace holds, in canonical order, without the contents of its files. */
export type Survey = {
  /** All paths and targets: two surveys with the same have the same entries at the same places. */
  readonly text: string;
  readonly seen: readonly Seen[];
};

function unpacked({ text, numbers }: WorkspaceSurvey): Survey {
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.byteLength / 4);
  const fields = text.split("\0");
  const seen: Seen[] = [];
  let field = 0;
  for (let at = 0; at < words.length; at += kStampWords) {
    const type = kTypes.get((words[at] ?? 0) & kTypeBits) ?? "other";
    const path = fields[field++] ?? "";
    const target = type === "symlink" ? (fields[field++] ?? "") : "";
    if (!kAside.test(path)) seen.push({ path, type, stamp: { words, at }, target });
  }
  return { text, seen };
}

/**
 * Looks at all that a directory holds, each step below it and through no symbolic link.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_UNSUPPORTED for a name that is no UTF-8,
 * ERR_WORKSPACE_LIMIT for more entries than are allowed; an Error of `node:fs`, or a SandboxError where
 * there is no such directory.
 */
export async function survey(directory: string, { maxEntries }: Bounds): Promise<Survey> {
  const files = new (loadAddon().WorkspaceFiles)({ shadowDir: directory, write: false });
  try {
    return unpacked(await files.survey({ maxEntries }));
  } catch (error) {
    const { code, path = kTop } = error as { code?: unknown; path?: string };
    if (code === "EILSEQ") {
      const message = `${path} can't be moved: its name, or what it points to, is no UTF-8`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_UNSUPPORTED", error);
    }
    if (code === "ERR_FS_TOO_MANY_ENTRIES") {
      const message = `the workspace has more than ${maxEntries} entries`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_LIMIT", error);
    }
    throw error;
  }
}
