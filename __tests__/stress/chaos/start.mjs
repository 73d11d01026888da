// The command line of a run of chaos: below the probe as reaper, and for root in a mount namespace of
// its own with an own /dev/shm, where nobody else's mounts and files come and go.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const kMain = fileURLToPath(new URL("./main.mjs", import.meta.url));
const kReaperBoundMs = 30_000;
const kMountShm = 'mount -t tmpfs chaos /dev/shm && exec "$@"';
const kApart = ["unshare", "--mount", "sh", "-c", kMountShm, "sh"];

function canBeApart() {
  const [program, ...args] = [...kApart, "true"];
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

/**
 * Words to run as root or not. `probe`: the program of __tests__/integration/probe; `args`: see
 * options.mjs.
 */
export function chaosCommand(probe, args, { isRoot, node = process.execPath }) {
  const apart = isRoot && canBeApart() ? kApart : [];
  return [probe, "reap", String(kReaperBoundMs), ...apart, node, kMain, ...args];
}
