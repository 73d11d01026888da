import type { PackedChanges, TransactionHandle } from "../../../types/addon-transaction.js";
import type { Change, ChangesOptions } from "../../../types/transaction.js";
import { invalidType } from "../../errors.js";

const kKinds: readonly Change["kind"][] = ["added", "modified", "deleted", "renamed"];
const kTypes: readonly Change["type"][] = ["file", "directory", "symlink", "other"];
const kNumbers = 8; // of each change, as native/addon/transactions/packed_changes.h has them
const kConflict = 1;
const kTarget = 2;
const kFrom = 4;
const kVersion = 8;
/** That the event loop is kept by no more of them at once; some 0.5 µs each. */
const kAtOnce = 2000;

/** Whatever else waits for the event loop. */
const others = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The changes that native code has packed: to make as many objects there takes ten times as long. */
export async function unpacked({ text, numbers }: PackedChanges): Promise<Change[]> {
  const bytes = numbers.byteLength;
  const values = new Float64Array(numbers.buffer, numbers.byteOffset, bytes / 8);
  const words = text.split("\0");
  const changes: Change[] = [];
  let word = 0;
  for (let at = 0; at < values.length; at += kNumbers) {
    if (changes.length % kAtOnce === kAtOnce - 1) await others();
    const flags = values[at + 6] ?? 0;
    const change: Change = {
      path: words[word++] ?? "",
      kind: kKinds[values[at] ?? 0] ?? "modified",
      type: kTypes[values[at + 1] ?? 0] ?? "other",
      size: values[at + 2] ?? 0,
      previousSize: values[at + 3] ?? 0,
      mode: values[at + 4] ?? 0,
      previousMode: values[at + 5] ?? 0,
    };
    if ((flags & kFrom) !== 0) change.from = words[word++] ?? "";
    if ((flags & kTarget) !== 0) change.target = words[word++] ?? "";
    if ((flags & kConflict) !== 0) change.conflict = true;
    if ((flags & kVersion) !== 0) {
      change.version = words[word++] ?? "";
      const changedMs = values[at + 7] ?? 0;
      if (changedMs !== 0) change.changedAt = new Date(changedMs);
    }
    changes.push(change);
  }
  return changes;
}

/** See `Transaction.changes`. */
export async function toldChanges(
  handle: TransactionHandle,
  { details = false, ...options }: ChangesOptions,
  protectedNames: readonly string[],
): Promise<Change[]> {
  if (typeof details !== "boolean") throw invalidType("details", "a boolean", details);
  if (!details) return unpacked(await handle.changes(options));
  const [packed, { refused }] = await Promise.all([
    handle.changes({ ...options, versions: true }),
    handle.check({ ...options, protectedNames }),
  ]);
  const changes = await unpacked(packed);
  const paths = new Set(refused.map(({ path }) => path));
  for (const change of changes) {
    if (paths.has(change.path) || paths.has(change.from ?? "")) change.protected = true;
  }
  return changes;
}
