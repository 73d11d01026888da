/**
 * A network of a test's own: a namespace with nothing but a loopback, and names in an /etc/hosts of its
 * mount namespace. So nothing of the package has to know that it is tested.
 */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kNodeProgram } from "../support/node-arguments.js";
import { isRoot, plainEnvironment } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kElsewhere = fileURLToPath(new URL("../hosts/network/other-machine.mjs", import.meta.url));

// With root's rights over both namespaces. $1: a directory with the names; $2: addresses for the
// loopback; $3: of another machine, at the end of a cable; then its program, or nothing.
const kSetUp = `set -e
ip link set lo up
for address in $2; do ip address add $address/32 dev lo; done
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
mount --bind "$1/hosts" /etc/hosts
directory=$1 elsewhere=$3
shift 3
if [ -n "$elsewhere" ]; then
  rm -f "$directory/said"; mkfifo "$directory/said"
  setpriv --pdeathsig KILL unshare --net sh -c '
    echo > "$1/said"
    while ! ip link set far up 2> /dev/null; do sleep 0.01; done
    ip address add "$2/24" dev far
    shift 2
    exec "$@"' sh "$directory" "$elsewhere" "$NODE" "$ELSEWHERE" "$directory/said" < /dev/null > /dev/null &
  read line < "$directory/said"
  ip link add near type veth peer name far netns $!
  ip address add "\${elsewhere%.*}.1/24" dev near
  ip link set near up
  read line < "$directory/said"
fi
exec "$@"`;

/** What is in a network: names by their addresses, such as `{ "127.0.0.1": ["a.test"] }`. */
export type OwnNetwork = {
  /** The host's own; each that is no 127.0.0.1 is its loopback's as well. */
  here: Readonly<Record<string, readonly string[]>>;
  /** Those of another machine that serves HTTP at one address; default none. */
  elsewhere?: { address: string; names: readonly string[] };
};

/** The words that run a program in one, as who we are. */
export function inOwnNetwork({ here, elsewhere }: OwnNetwork): string[] {
  const directory = tempDirectory("names");
  const others = elsewhere === undefined ? [] : [[elsewhere.address, elsewhere.names] as const];
  const lines = [...Object.entries(here), ...others].map(
    ([address, names]) => `${address} ${names.join(" ")}\n`,
  );
  writeFileSync(join(directory, "hosts"), ["127.0.0.1 localhost\n", ...lines].join(""));
  const addresses = Object.keys(here).filter((address) => address !== "127.0.0.1");
  const given = [directory, addresses.join(" "), elsewhere?.address ?? ""];
  const programs = [`NODE=${kNodeProgram}`, `ELSEWHERE=${kElsewhere}`];
  const setUp = ["env", ...programs, "sh", "-c", kSetUp, "sh", ...given];
  if (isRoot) return ["unshare", "--mount", "--net", ...setUp];
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const back = ["unshare", "--user", `--map-user=${uid}`, `--map-group=${gid}`];
  return ["unshare", "--user", "--map-root-user", "--mount", "--net", ...setUp, ...back];
}

function whyNone(): string | undefined {
  const [command = "", ...args] = [...inOwnNetwork({ here: {} }), "true"];
  const tried = spawnSync(command, args, { encoding: "utf8", env: plainEnvironment() });
  if (tried.status === 0) return undefined;
  return `no network of its own can be made: ${tried.error?.message ?? tried.stderr.trim()}`;
}

/** Why there can be none here; undefined where there can. */
export const whyNoOwnNetwork = whyNone();
