// Firejail as its users call it, with the options that come nearest to what the others do: no
// network, the workspace as the only home, a read-only system. --noprofile, since the profiles that
// it ships are for desktop programs and none is for a shell command.

import { hasProgram } from "../programs.mjs";
import { runSpawned } from "./spawned.mjs";

const kOptions = [
  ...["--quiet", "--noprofile", "--caps.drop=all", "--nonewprivs", "--seccomp"],
  ...["--ipc-namespace", "--net=none", "--private-dev", "--private-tmp", "--read-only=/"],
];

export const missing = () => (hasProgram("firejail") ? undefined : "firejail is not installed");

export function open({ workspace, home }) {
  // --private puts the workspace in the place of the home directory.
  const options = [...kOptions, `--private=${workspace}`, `--read-write=${home}`, "--"];
  return {
    exec: ({ argv, limits }) => runSpawned("firejail", [...options, ...argv], { limits }),
  };
}
