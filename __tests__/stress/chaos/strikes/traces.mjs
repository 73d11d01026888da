// What a run could leave on the machine besides processes: mounts, temporary files, shared memory and
// control groups. Compared with what was there at the start.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { now } from "../judge/ledger.mjs";

const kRoundMs = 100;
const kCgroups = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

function list(directory, options) {
  try {
    return readdirSync(directory, options);
  } catch {
    return []; // not there, or not ours to read
  }
}

function isOurs(file) {
  try {
    return statSync(file).uid === process.getuid();
  } catch {
    return false;
  }
}

const mounts = () => readFileSync("/proc/self/mountinfo", "utf8").trimEnd().split("\n");

const sharedMemory = () =>
  list("/dev/shm")
    .map((name) => join("/dev/shm", name))
    .filter(isOurs);

/** The leaves that a host makes are siblings or children of its own group (native/supervise/cgroup). */
function controlGroups() {
  const own = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
  return kCgroups
    .flatMap((mount) => [join(mount, own), join(mount, own, "..")])
    .flatMap((group) => list(group).map((name) => join(group, name)))
    .filter((group) => /\/native-runner-[^/]*$/.test(group));
}

export class Traces {
  #before;
  #kinds;
  #goneMs;

  /** `temp`: the TMPDIR of the hosts, which is theirs alone; `goneMs`: how long it may take to go. */
  constructor(temp, goneMs) {
    this.#goneMs = goneMs;
    this.#kinds = {
      mount: mounts,
      // The directory of Landlock's homes stays, for the next; what is in it goes.
      "temporary file": () =>
        list(temp, { recursive: true }).filter((name) => !/^openagentic-run-homes-\d+$/.test(name)),
      "shared memory": sharedMemory,
      "control group": controlGroups,
    };
    this.#before = this.#look();
  }

  #look() {
    return Object.entries(this.#kinds).flatMap(([kind, look]) =>
      look().map((trace) => `${kind} left: ${trace}`),
    );
  }

  /** Waits until there is nothing new, in vain where something is left. */
  async none(complaints) {
    const until = now() + this.#goneMs;
    let left;
    do {
      left = this.#look().filter((trace) => !this.#before.includes(trace));
      if (left.length === 0) return;
      await delay(kRoundMs);
    } while (now() < until);
    for (const trace of left) complaints.add(trace.slice(0, trace.indexOf(":")), trace);
    this.#before.push(...left); // once is enough
  }
}
