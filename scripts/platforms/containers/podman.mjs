// Runs a program in a container of Podman's, from a directory in the place of an image: root's Podman, or
// that of a user who has no rights of root's.
import path from "node:path";
import { outputOf, runBeside, runQuietly } from "../../lib/run.mjs";
import { tempDirectory } from "../../lib/temp.mjs";
import { rootTree } from "../root-tree.mjs";
import { rootlessWords } from "./rootless.mjs";

const kPrograms = { podman: "podman", crun: "crun", newuidmap: "uidmap", setpriv: "util-linux" };

/** Why there are no containers here; undefined: there are. Installs Podman where root may. */
export function whyNoPodman() {
  if (process.getuid() !== 0) return "only root can set a container up";
  const missing = Object.entries(kPrograms)
    .filter(([program]) => outputOf("sh", ["-c", `command -v ${program}`]) === undefined)
    .map(([, name]) => name);
  if (missing.length === 0) return undefined;
  if (outputOf("apt-get", ["--version"]) === undefined) return `missing: ${missing.join(", ")}`;
  runQuietly("apt-get", ["update", "-qq"]);
  runQuietly("apt-get", ["install", "-y", "--no-install-recommends", ...missing]);
  return undefined;
}

/** crun wants the unified hierarchy of control groups, which this machine may have beside the old one. */
const kWithCgroup2 = 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"';

/** Limits that may be given without CAP_SYS_RESOURCE: Podman's own are above this machine's. */
const kLimits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"];

const run = (tree, root, options) => [
  ...["--cgroup-manager=cgroupfs", "run", "--rm", "--network=none", "--cgroups=disabled"],
  ...kLimits,
  ...["--volume", `${tree}:/package:ro`, ...options, "--rootfs", `${root}:O`],
];

function rootfulWords(tree, options) {
  const state = tempDirectory("podman");
  const places = ["root", "runroot", "tmpdir"].flatMap((name) => [
    `--${name}`,
    path.join(state, name),
  ]);
  return ["podman", ...places, ...run(tree, rootTree("amd64"), options)];
}

/**
 * @param options of `podman run`.
 * @param words the program. @param tree the package's directory, which is /package in the container.
 * @param isRootless an ordinary user starts Podman, whose root in the container is that user.
 * @returns {Promise<{ code: number, output: string }>}
 */
export async function runInPodman(options, tree, words, { isRootless = false } = {}) {
  const podman = isRootless
    ? rootlessWords((root) => ["podman", ...run(tree, root, options)])
    : rootfulWords(tree, options);
  const inNamespace = ["--mount", "sh", "-c", kWithCgroup2, "sh"];
  return runBeside("unshare", [...inNamespace, ...podman, ...words]);
}
