// Namespaces, seccomp and capabilities of a running command, read from the host's /proc: inside,
// not every sandbox has one to read.

import { readdir, readFile, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const kNamespaces = ["mnt", "pid", "net", "ipc", "uts", "user", "cgroup"];
const kPatienceMs = 10_000;

/** An argument for sleep(1) that no other process has. */
export const uniqueSeconds = () => `0.7${String(Math.floor(Math.random() * 1e9)).padStart(9, "0")}`;

async function findProcess(argv) {
  const wanted = `${argv.join("\0")}\0`;
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line === wanted) return pid;
  }
  return undefined;
}

async function namespacesOf(pid) {
  const links = kNamespaces.map((name) => readlink(`/proc/${pid}/ns/${name}`));
  return Promise.all(links);
}

/**
 * Waits for the process with just these arguments; resolves to { namespaces (those that are not
 * ours), seccomp, noNewPrivs, capabilities (how many) }.
 */
export async function confinementOf(argv) {
  const deadline = performance.now() + kPatienceMs;
  let pid = await findProcess(argv);
  while (pid === undefined) {
    if (performance.now() > deadline) throw new Error(`no process ${argv.join(" ")} came`);
    await sleep(5);
    pid = await findProcess(argv);
  }
  const [own, its] = await Promise.all([namespacesOf("self"), namespacesOf(pid)]);
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const field = (name) => new RegExp(`^${name}:\\s+(\\S+)$`, "m").exec(status)?.[1];
  return {
    namespaces: kNamespaces.filter((_, i) => own[i] !== its[i]),
    seccomp: field("Seccomp") === "2",
    noNewPrivs: field("NoNewPrivs") === "1",
    capabilities: BigInt(`0x${field("CapEff")}`)
      .toString(2)
      .replaceAll("0", "").length,
  };
}
