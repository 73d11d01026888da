// What stays of a run of chaos with a fault: what each host did, and where one was stuck. In the
// checkout's build/evidence, since temporary directories go away with the tests that made them.
import { cpSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

export const kEvidence = fileURLToPath(new URL("../../../../build/evidence", import.meta.url));

const isEvidence = (file) => /\.(jsonl|txt)$/.test(file);

/** Copies it from the run's directory; returns where it is: there, where nothing can be made. */
export function keepEvidence(directory, parent = kEvidence) {
  const kept = join(parent, basename(directory));
  try {
    mkdirSync(kept, { recursive: true });
  } catch {
    return directory; // another user's checkout
  }
  cpSync(directory, kept, {
    recursive: true,
    filter: (file) => file === directory || isEvidence(file),
  });
  return kept;
}
