// Which kinds of runners this host can have: each runs one command, undisturbed.
import { kRunnerKinds } from "./runner-set.mjs";

/** { kind, isSubreaper, why? } of each: how the end of a tree is brought about, and why it can't be had. */
export async function findKinds(workspace) {
  const found = [];
  for (const { kind, make } of kRunnerKinds) {
    const runner = make(workspace.path);
    const { outcome, audits } = await runner.exec({ argv: ["true"] });
    await runner.close?.();
    const isSubreaper = audits[0].layers.includes("tree-kill:subreaper");
    if (outcome.kind === "exited") found.push({ kind, isSubreaper });
    else found.push({ kind, isSubreaper, why: outcome.reason ?? outcome.kind });
  }
  return found;
}
