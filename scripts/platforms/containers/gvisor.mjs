// Runs a program in gVisor, on a read-only view of this machine's files.
import path from "node:path";
import { runBeside } from "../../lib/run.mjs";
import { tempDirectory } from "../../lib/temp.mjs";
import { DebianSuite } from "../debian-suite.mjs";

const kSuite = "trixie";
const kWithCgroup2 = 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"';

export const gvisorVersion = () => new DebianSuite(kSuite).versionOf("runsc");

/** @returns {Promise<{ code: number, output: string }>} */
export function runInGvisor(words) {
  const program = path.join(new DebianSuite(kSuite).unpacked("runsc"), "usr/bin/runsc");
  const state = ["--root", path.join(tempDirectory("gvisor"), "state")];
  const options = ["--platform=systrap", "--network=none", "--ignore-cgroups"];
  const inNamespace = ["--mount", "sh", "-c", kWithCgroup2, "sh"];
  return runBeside("unshare", [...inNamespace, program, ...state, ...options, "do", ...words]);
}
