/** Programs that start others, whose options are too many to list. */

import type { Program, ProgramTable } from "../program.js";

/** Their operands are a command, if there are any. */
const kWrapped =
  "bwrap chpst cgexec entr firejail minijail nsjail numactl proxychains proxychains4 qemu-x86_64 " +
  "run0 setuidgid softlimit systemd-cat systemd-inhibit tcpserver valgrind watchexec wine xterm";

/** Their operands may be a command, or a subcommand that runs one. */
const kSomewhere =
  "arch asdf bpftrace capsh corepack direnv distrobox docker dotenv dotenvx dotnet dtach flatpak " +
  "fnm guix hatch incus ip kubectl lerna lxc mise nerdctl nix nix-shell nvm nx pdm perf podman " +
  "pyenv rbenv rr runsv rustup screen sem ssh-agent supervise toolbox tox turbo volta xcrun";

function each(names: string, program: Program): [string, Program][] {
  return names.split(" ").map((name) => [name, program]);
}

export const kLaunchers: ProgramTable = Object.fromEntries([
  ...each(kWrapped, { runs: "wrapped" }),
  ...each(kSomewhere, { runs: "somewhere" }),
]);
