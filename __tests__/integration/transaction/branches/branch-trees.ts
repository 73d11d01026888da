/** What a transaction's commands see of its workspace, as a text for comparisons. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

import { kNodeInside } from "../../support/node-arguments.js";
import type { Transaction } from "../../support/package.js";
import { plainEnvironment } from "../../support/requirements.js";
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

const kDist = new URL("../../../../dist/index.js", import.meta.url).href;

/**
 * Runs `script` in a host of its own, with a `runner` of the workspace and `options` that name the state directory, and
 * kills that so many milliseconds after it has begun; `script` says so by `begin()`.
 */
export async function killedHost(
  { workspace, state }: { workspace: string; state: string },
  script: string,
  afterMs: number,
): Promise<void> {
  const program = `
    const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
    const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)}, prewarm: 0 });
    const options = { directory: ${JSON.stringify(state)} };
    const begin = () => process.stdout.write("now");
    ${script}`;
  const [node = "", ...words] = [...kNodeInside, "--input-type=module", "-e", program];
  const host = spawn(node, words, {
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(host, "exit");
  await once(host.stdout, "data");
  await setTimeout(afterMs);
  host.kill("SIGKILL");
  await ended;
}

/** Each line of `lines` on one of its own. */
export const linesOf = (...lines: string[]): string => lines.map((line) => `${line}\n`).join("");
