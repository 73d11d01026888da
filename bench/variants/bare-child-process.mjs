// The command itself on child_process.spawn, without any sandbox.

import { runSpawned } from "./spawned.mjs";

export function open() {
  return { exec: ({ argv, limits }) => runSpawned(argv[0], argv.slice(1), { limits }) };
}
