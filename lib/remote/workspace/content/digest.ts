import { createHash } from "node:crypto";

import { WorkspaceError } from "../workspace-error.js";
import type { Beneath } from "./beneath.js";
import { chunksOf } from "./file-reader.js";
import { isSameStamp, type Stamp } from "./stamp.js";

const kTries = 5;

/** A file's content, and the state in which it had that. */
export type Digested = { readonly sha256: string; readonly stamp: Stamp };

async function tryDigest(tree: Beneath, path: string): Promise<Digested | undefined> {
  const hash = createHash("sha256");
  const chunks = chunksOf(tree, path, Number.MAX_SAFE_INTEGER);
  for (;;) {
    const step = await chunks.next();
    if (step.done) {
      const { before, after } = step.value;
      return isSameStamp(before, after) ? { sha256: hash.digest("hex"), stamp: after } : undefined;
    }
    hash.update(step.value);
  }
}

/**
 * The SHA-256 of a regular file, of one moment: a file that is written to meanwhile is read again.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_CHANGING where it goes on changing; an Error of
 * `node:fs`.
 */
export async function digestOf(tree: Beneath, path: string): Promise<Digested> {
  for (let tried = 0; tried < kTries; tried += 1) {
    const digested = await tryDigest(tree, path);
    if (digested) return digested;
  }
  const message = `${path} changes all the time that it is read`;
  throw new WorkspaceError(message, "ERR_WORKSPACE_CHANGING");
}
