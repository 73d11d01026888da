import type { Change } from "../../../../types/transaction.js";

/** What is asked of a transaction's change to move it. */
export type ToldChange = Pick<Change, "path" | "kind" | "type" | "from" | "mode" | "target">;

/** What of the changes can cross a thread's border cheaply. */
export function toldChanges(changes: readonly Change[]): ToldChange[] {
  return changes.map(({ path, kind, type, from, mode, target }) => ({
    path,
    kind,
    type,
    mode,
    ...(from !== undefined && { from }),
    ...(target !== undefined && { target }),
  }));
}
