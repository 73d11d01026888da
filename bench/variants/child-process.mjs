// The same bwrap options in plain JavaScript, on child_process.spawn.

import { runSpawned } from "./spawned.mjs";

export function open({ sandbox }) {
  return {
    exec: ({ argv, limits }) =>
      runSpawned(sandbox.cmd, [...sandbox.options, "--", ...argv], { limits }),
  };
}
