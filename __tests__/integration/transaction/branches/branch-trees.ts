/** What a transaction's commands see of its workspace, as a text for comparisons. */

import type { Transaction } from "../../support/package.js";
import { run } from "../../support/results.js";

// Type, mode, contents or target of each entry, in the order of the paths' bytes.
const kTree = `export LC_ALL=C; find . -mindepth 1 | sort | while IFS= read -r path; do
  if [ -L "$path" ]; then echo "$path -> $(readlink "$path")"
  elif [ -f "$path" ]; then echo "$path $(stat -c %a "$path") $(md5sum < "$path")"
  else echo "$path $(stat -c '%F %a' "$path")"; fi
done`;

export async function seenBy(transaction: Transaction): Promise<string> {
  const { out, err } = await run(transaction, kTree);
  if (err !== "") throw new Error(err);
  return out;
}

/** Each line of `lines` on one of its own. */
export const linesOf = (...lines: string[]): string => lines.map((line) => `${line}\n`).join("");
