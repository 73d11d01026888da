// Runs a program in a container of Podman's, from a directory in the place of an image.
import path from "node:path";
import { outputOf, runBeside, runQuietly } from "../../lib/run.mjs";
import { tempDirectory } from "../../lib/temp.mjs";
import { rootTree } from "../root-tree.mjs";

const kPackages = ["podman", "crun"];

/** Why there are no containers here; undefined: there are. Installs Podman where root may. */
export function whyNoPodman() {
  if (process.getuid() !== 0) return "only root can set a container up";
  if (outputOf("podman", ["--version"]) !== undefined) return undefined;
  if (outputOf("apt-get", ["--version"]) === undefined) return "there is no podman";
  runQuietly("apt-get", ["update", "-qq"]);
  runQuietly("apt-get", ["install", "-y", "--no-install-recommends", ...kPackages]);
  return undefined;
}

/** crun wants the unified hierarchy of control groups, which this machine may have beside the old one. */
const kWithCgroup2 = 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"';

/** Limits that may be given without CAP_SYS_RESOURCE: Podman's own are above this machine's. */
const kLimits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"];

/**
 * @param options of `podman run`.
 * @param words the program. @param tree the package's directory, which is /package in the container.
 * @returns {Promise<{ code: number, output: string }>}
 */
export async function runInPodman(options, tree, words) {
  const state = tempDirectory("podman");
  const podman = [
    ...["podman", "--root", path.join(state, "root"), "--runroot", path.join(state, "run")],
    ...["--tmpdir", path.join(state, "tmp"), "--cgroup-manager=cgroupfs"],
  ];
  const run = ["run", "--rm", "--network=none", "--cgroups=disabled", ...kLimits];
  const root = [
    "--volume",
    `${tree}:/package:ro`,
    ...options,
    "--rootfs",
    `${rootTree("amd64")}:O`,
  ];
  const inNamespace = ["unshare", "--mount", "sh", "-c", kWithCgroup2, "sh"];
  const [program, ...rest] = [...inNamespace, ...podman, ...run, ...root, ...words];
  return runBeside(program, rest);
}
