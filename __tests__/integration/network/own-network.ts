/**
 * A network of a test's own: a namespace with nothing but a loopback, and names in an /etc/hosts of its
 * mount namespace. So nothing of the package has to know that it is tested.
 */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { isRoot, plainEnvironment } from "../support/gate.js";
import { tempDirectory } from "../support/temp.js";

// With root's rights over both namespaces: $1 is the file with the names, $2 addresses for the loopback.
const kSetUp = `set -e
ip link set lo up
for address in $2; do ip address add $address/32 dev lo; done
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
mount --bind "$1" /etc/hosts
shift 2
exec "$@"`;

/**
 * The words that run a program in one, as who we are. `names`: what has which address, such as
 * `{ "127.0.0.1": ["a.test"] }`; each that is no 127.0.0.1 is the loopback's as well.
 */
export function inOwnNetwork(names: Readonly<Record<string, readonly string[]>>): string[] {
  const hosts = join(tempDirectory("names"), "hosts");
  const lines = Object.entries(names).map(([address, each]) => `${address} ${each.join(" ")}\n`);
  writeFileSync(hosts, ["127.0.0.1 localhost\n", ...lines].join(""));
  const addresses = Object.keys(names).filter((address) => address !== "127.0.0.1");
  const setUp = ["sh", "-c", kSetUp, "sh", hosts, addresses.join(" ")];
  if (isRoot) return ["unshare", "--mount", "--net", ...setUp];
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const back = ["unshare", "--user", `--map-user=${uid}`, `--map-group=${gid}`];
  return ["unshare", "--user", "--map-root-user", "--mount", "--net", ...setUp, ...back];
}

function whyNone(): string | undefined {
  const [command = "", ...args] = [...inOwnNetwork({}), "true"];
  const tried = spawnSync(command, args, { encoding: "utf8", env: plainEnvironment() });
  if (tried.status === 0) return undefined;
  return `no network of its own can be made: ${tried.error?.message ?? tried.stderr.trim()}`;
}

/** Why there can be none here; undefined where there can. */
export const whyNoOwnNetwork = whyNone();
