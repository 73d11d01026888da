// What each variant really keeps a command from. The same probe runs under each of them: it reads a
// file in the home directory, lists a directory of the system's data, tries to write outside the
// workspace (the benchmark has made both files' directories), and connects to a listener of the
// benchmark's own on the loopback. Namespaces, seccomp and capabilities are
// read from the outside, of a second command that sleeps.

import { mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { openVariant } from "./measure.mjs";
import { kVariants } from "./subjects/index.mjs";

// Namespaces, seccomp and capabilities of a running command, read from the host's /proc: inside,
// not every sandbox has one to read.

const kNamespaces = ["mnt", "pid", "net", "ipc", "uts", "user", "cgroup"];
const kPatienceMs = 10_000;

/** An argument for sleep(1) that no other process has. */
const uniqueSeconds = () => `0.7${String(Math.floor(Math.random() * 1e9)).padStart(9, "0")}`;

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
async function confinementOf(argv) {
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

const kProbe = `
  answer() { if "$@" 2>/dev/null >&2; then echo "$name"; fi; }
  name=readsHome answer head -c 1 "$1/secret"
  name=readsElsewhere answer test -n "$(ls /var/lib)"
  name=writesElsewhere answer touch "$2/written"
  name=reachesLoopback answer bash -c "exec 3<>/dev/tcp/127.0.0.1/$3"
  echo end
`;

async function bait(parent) {
  const directory = await realpath(await mkdtemp(join(parent, "native-runner-bench-")));
  await writeFile(join(directory, "secret"), "x");
  return directory;
}

function listen() {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

async function probeOne(name, setup, { home, elsewhere, port }) {
  const variant = await openVariant(name, setup);
  try {
    const argv = ["/bin/bash", "-c", kProbe, "probe", home, elsewhere, String(port)];
    const { exitCode, stdout, stderr } = await variant.tell(argv);
    const answers = stdout.trim().split("\n");
    if (exitCode !== 0 || answers.pop() !== "end") {
      throw new Error(`the probe failed under ${name}: ${exitCode} ${stderr}`);
    }
    const seconds = uniqueSeconds();
    const sleeping = variant.tell(["/bin/sleep", seconds]);
    const confinement = await confinementOf(["/bin/sleep", seconds]);
    await sleeping;
    return {
      ...confinement,
      readsHome: answers.includes("readsHome"),
      readsElsewhere: answers.includes("readsElsewhere"),
      // Not the probe's word: a write may also land in a private place.
      writesElsewhere: (await readdir(elsewhere)).includes("written"),
      reachesLoopback: answers.includes("reachesLoopback"),
    };
  } finally {
    await variant.close();
  }
}

/** Resolves to { name: facts } for all variants that can be asked. */
export async function probeIsolation(names, setup) {
  const askable = names.filter((name) => {
    const { openHere, isolatesAs } = kVariants[name];
    return openHere === undefined && isolatesAs === undefined;
  });
  const server = await listen();
  const home = await bait(homedir());
  const found = {};
  try {
    for (const name of askable) {
      const elsewhere = await bait("/var/tmp");
      try {
        found[name] = await probeOne(name, setup, { home, elsewhere, port: server.address().port });
      } finally {
        await rm(elsewhere, { recursive: true, force: true });
      }
    }
  } finally {
    server.close();
    await rm(home, { recursive: true, force: true });
  }
  return found;
}
