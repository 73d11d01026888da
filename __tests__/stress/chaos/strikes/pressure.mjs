// Memory pressure: now and then a process that fills a share of what the machine can spare.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

import { now } from "../judge/ledger.mjs";

const kMiB = 2 ** 20;
const kSpareMiB = 2048; // with less than this available there is pressure enough
const kMostMiB = 1024;

const kBalloon = `
  const [mib, ms] = process.argv.slice(1).map(Number);
  const held = [];
  for (let i = 0; i < mib; i += 64) held.push(Buffer.alloc(64 * ${kMiB}, 1));
  setTimeout(() => process.exit(held.length > 0 ? 0 : 1), ms);
  process.on("disconnect", () => process.exit(0));
`;

function availableMiB() {
  const found = /^MemAvailable:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"));
  return Number(found?.[1] ?? 0) / 1024;
}

export class Pressure {
  count = 0;
  #balloon;
  #ended = Promise.resolve();
  #next;
  #random;

  constructor(random) {
    this.#random = random;
    this.#next = now() + random.int(1000, 5000);
  }

  /** Fills a balloon when it is time for one. */
  look() {
    if (this.#balloon !== undefined || now() < this.#next) return;
    const available = availableMiB();
    const mib = Math.min(this.#random.int(256, kMostMiB), Math.floor(available / 4));
    const args = ["-e", kBalloon, String(mib), String(this.#random.int(1000, 4000))];
    this.#next = now() + this.#random.int(5000, 20_000);
    if (available < kSpareMiB) return;
    this.count += 1;
    this.#balloon = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
    this.#ended = new Promise((resolve) => this.#balloon.once("close", resolve)).then(() => {
      this.#balloon = undefined;
    });
  }

  async end() {
    this.#balloon?.kill("SIGKILL");
    await this.#ended;
  }
}
