// What each variant really keeps a command from. The same probe runs under each of them: it reads a
// file in the home directory, lists a directory of the system's data, tries to write outside the
// workspace (the benchmark has made both files' directories), and connects to a listener of the
// benchmark's own on the loopback. Namespaces, seccomp and capabilities are
// read from the outside, of a second command that sleeps.

import { mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";

import { confinementOf, uniqueSeconds } from "./confinement.mjs";
import { openVariant } from "./measure.mjs";
import { kVariants } from "./variants/index.mjs";

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
    const { module, isolatesAs } = kVariants[name];
    return module !== undefined && isolatesAs === undefined;
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
