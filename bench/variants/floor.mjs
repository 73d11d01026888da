// The C floor behind the interface of a host (host/host.mjs), started anew for each burst. `bare`:
// the command itself, without the sandbox.

import { burstOf, compiled } from "../compiled.mjs";

const kSource = new URL("../floor.c", import.meta.url);

export async function openFloor({ sandbox, bare = false }) {
  const program = await compiled(kSource);
  const prefix = bare ? [] : [sandbox.cmd, ...sandbox.options, "--"];
  return {
    burst: ({ argv, runs, atOnce }) => burstOf(program, [atOnce, runs, ...prefix, ...argv]),
    close() {},
  };
}
