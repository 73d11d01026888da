// Kernels of Debian's suites, each in an emulated machine: the smoke program and `doctor` as root and
// as an ordinary user, and the C++ tests that look at the kernel.
import path from "node:path";
import { buildDirectory } from "../../lib/project.mjs";
import { sumOf } from "../../lib/suites.mjs";
import { cacheDirectory } from "../cache.mjs";
import { whyNoSuites } from "../debian-suite.mjs";
import { packageTree } from "../package-tree.mjs";
import { readSmoke } from "../smoke.mjs";
import { readConsole } from "./console.mjs";
import { makeDisk } from "./disk.mjs";
import { misdiagnoses } from "./doctor.mjs";
import { initramfs } from "./initramfs.mjs";
import { Kernel } from "./kernel.mjs";
import { boot } from "./qemu.mjs";
import { rootDisk } from "./root-disk.mjs";

/** Functions of guest/init. */
const kWork = ["smoke", "doctor", "units"];
const kAppArmorWork = ["without_userns", "with_userns", "bwrap_apart"];
/** guest/bounds has its own parts, in the kinds of groups that systemd makes. */
const kBoundsWork = ["bounds"];
const kUsers = ["root", "user"];
const kSlow = 10; // how many times as long as here anything may take
const kSilenceMs = 45 * 60_000; // between two of the programs' ends
const kMostShown = 1500; // characters of a console, where a machine ends early

/** The newest of a series that a suite has, and the version of Landlock's interface in it. */
const kKernels = [
  { series: "5.10", suite: "bullseye", landlockAbi: 0 },
  { series: "6.1", suite: "bookworm", landlockAbi: 2 },
  { series: "6.12", suite: "trixie", landlockAbi: 6 },
  { series: "6.18", suite: "trixie-backports", landlockAbi: 7 },
  { series: "7", suite: "trixie-backports", landlockAbi: 11 },
  { series: "6.12", suite: "trixie", landlockAbi: 6, arch: "arm64" },
  { series: "6.18", suite: "trixie-backports", landlockAbi: 7, work: kAppArmorWork },
  { series: "6.12", suite: "trixie", landlockAbi: 6, work: kBoundsWork },
];

/** Where the binaries for a processor are, by Debian's name of it. */
const kBuilds = { amd64: "release", arm64: "linux-arm64" };

/** The profile of AppArmor that forbids bwrap its namespace; as root bwrap has none of its own. */
function refusing(work, user) {
  if (work === "without_userns") return "host-without-userns";
  return work === "bwrap_apart" && user === "root" ? "host-that-starts-bwrap-apart" : undefined;
}

/** What the programs in the guest said, by user. */
function readResults({ parts }, landlockAbi) {
  const results = { failed: [] };
  const units = [];
  for (const { work, user, output, code } of parts) {
    if (code === undefined) results.failed.push(`${user}: ${work} has not ended`);
    else if (work === "bounds") {
      if (code !== 0) results.failed.push(`${user}: it ended with ${code}: ${output}`);
    } else if (work === "smoke") results[user] = readSmoke(output, code);
    else if (work === "units") {
      const counts = output.split("\n").filter((line) => line.startsWith('{"program"'));
      units.push(...counts.map((line) => JSON.parse(line)));
      if (code !== 0) results.failed.push(`${user}: the C++ tests ended with ${code}`);
    } else {
      const lines = misdiagnoses(output, { landlockAbi, refusing: refusing(work, user) });
      results.failed.push(...lines.map((line) => `${user}: ${work}: ${line}`));
    }
  }
  return units.length === 0 ? results : { ...results, units: sumOf(units) };
}

function packageDisk(arch) {
  const tree = packageTree(buildDirectory(kBuilds[arch]), { withTests: true });
  return makeDisk(tree, path.join(cacheDirectory("machines"), `package-${arch}.ext4`));
}

/** An empty one. */
function slowDisk() {
  const directory = cacheDirectory("machines/empty");
  return makeDisk(directory, path.join(cacheDirectory("machines"), "slow.ext4"));
}

async function look({ series, suite, landlockAbi, arch = "amd64", work = kWork }) {
  const isAppArmor = work === kAppArmorWork;
  const isOfSystemd = work === kBoundsWork;
  const kernel = new Kernel(series, suite, arch);
  const machine = {
    arch,
    kernel: kernel.image,
    initramfs: initramfs(kernel),
    disks: [rootDisk(arch), packageDisk(arch)],
    ...(isOfSystemd && { slowDisk: slowDisk() }),
  };
  const kind = isAppArmor ? ["apparmor"] : isOfSystemd ? ["systemd"] : [];
  const guest = [kernel.version, arch, ...kind].join("-");
  const log = path.join(cacheDirectory("machines"), `console-${guest}.txt`);
  const parameters = {
    init: isOfSystemd ? "systemd" : "own",
    work: work.join(","),
    users: kUsers.join(","),
    slow: kSlow,
  };
  const words = Object.entries(parameters).map(([name, value]) => `native_runner.${name}=${value}`);
  const { output, end } = await boot(machine, words, kSilenceMs, log);
  const console = readConsole(output);
  const results = readResults(console, landlockAbi);
  if (!console.isDone || end !== undefined) {
    results.failed.push(
      `the machine ended early (${end}), see ${log}: ${output.slice(-kMostShown)}`,
    );
  }
  const how = `Debian's kernel ${kernel.version}, emulated ${arch}`;
  if (isAppArmor) return { ...results, how: `${how}; \`doctor\` alone` };
  return { ...results, how: isOfSystemd ? `${how}; the bounds by cgroup v2 alone` : how };
}

/** Why there can be no emulated machines here; undefined: there can. */
function whyNone() {
  if (process.getuid() !== 0) return "only root can unpack a root file system with its owners";
  return whyNoSuites();
}

function nameOf({ series, suite, arch, work }) {
  const processor = arch === undefined ? "" : ` on ${arch}`;
  const kinds = new Map([
    [kAppArmorWork, " with AppArmor"],
    [kBoundsWork, " with systemd"],
  ]);
  return `Linux ${series}${processor}${kinds.get(work) ?? ""} (${suite})`;
}

export function machines() {
  return kKernels.map((kernel) => ({
    name: nameOf(kernel),
    how: "Debian's kernel, emulated",
    slow: true,
    look: async () => {
      const why = whyNone();
      return why === undefined ? look(kernel) : { failed: [why] };
    },
  }));
}
