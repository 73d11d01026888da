/**
 * A disk whose files have times in whole seconds, and whose device number changes. It is mounted in a namespace of its
 * own: the tests that use it run in a Vitest of their own there.
 */

import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { kNodeInside } from "../../../integration/support/node-arguments.js";
import { isRoot, plainEnvironment } from "../../../integration/support/requirements.js";
import { tempDirectory } from "../../../integration/support/temp.js";
import { eventually } from "../../../support/waits.js";

const kVariable = "NATIVE_RUNNER_MODEL_DISK";
const kProject = fileURLToPath(new URL("../../../../", import.meta.url));

const systems = (): NodeJS.ProcessEnv => ({
  ...plainEnvironment(),
  PATH: `${process.env.PATH}:/usr/sbin:/sbin`,
});
const told = (program: string, ...args: string[]) =>
  execFileSync(program, args, { encoding: "utf8", env: systems() }).trim();

export function whyNoCoarseDisk(): string | undefined {
  if (!isRoot) return "only root may attach loop devices";
  if (!existsSync("/dev/loop-control")) return "there are no loop devices";
  const tried = spawnSync("mkfs.ext4", ["-V"], { env: systems() });
  return tried.status === 0 ? undefined : "there is no mkfs.ext4";
}

/** Runs a file of tests in a namespace with such a disk; resolves with what it wrote, and rejects if one fails. */
export async function runOnCoarseDisk(file: string, env: NodeJS.ProcessEnv): Promise<string> {
  const vitest = join(kProject, "node_modules/vitest/vitest.mjs");
  const words = [...kNodeInside, vitest, "run", "--project", "stress", file];
  const { stdout } = await promisify(execFile)("unshare", ["-m", ...words], {
    cwd: kProject,
    env: { ...systems(), ...env, [kVariable]: tempDirectory("disk") },
  }).catch((error: { stdout?: string; stderr?: string }) => {
    throw new Error(`${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}

export class CoarseDisk {
  readonly #top: string;
  #device: string;
  #stand: string | undefined; // has the number that the disk had before

  private constructor(top: string) {
    this.#top = top;
    mkdirSync(this.directory);
    // 128: so small that there is no room for nanoseconds.
    told("mkfs.ext4", "-q", "-F", "-I", "128", this.#image, "64M");
    this.#device = this.#attach();
  }

  static get isHere(): boolean {
    return process.env[kVariable] !== undefined;
  }

  /** The disk of this process, mounted; undefined where it has none. */
  static here(): CoarseDisk | undefined {
    const top = process.env[kVariable];
    return top === undefined ? undefined : new CoarseDisk(top);
  }

  get directory(): string {
    return join(this.#top, "mnt");
  }

  get #image(): string {
    return join(this.#top, "image");
  }

  #attach(): string {
    const device = told("losetup", "--find", "--show", this.#image);
    told("mount", device, this.directory);
    told("losetup", "--detach", device); // once it is mounted nowhere, however this process ends
    return device;
  }

  /** Nothing may be open on the disk. */
  async #detach(): Promise<void> {
    told("umount", this.directory);
    // Overlays that were closed may have it for a moment more; nobody may write to it by two devices.
    await eventually("the disk is in no use", () => told("losetup", "-j", this.#image) === "");
  }

  /** Mounts it with another device number. */
  async renumber(): Promise<void> {
    const before = statSync(this.directory).dev;
    await this.#detach();
    this.#letStandGo();
    const other = join(this.#top, "other");
    writeFileSync(other, Buffer.alloc(4096));
    // Where that fails, another program has taken the number.
    const taken = spawnSync("losetup", [this.#device, other], { env: systems() });
    if (taken.status === 0) this.#stand = this.#device;
    this.#device = this.#attach();
    if (statSync(this.directory).dev === before) throw new Error("it has the number that it had");
  }

  async end(): Promise<void> {
    await this.#detach();
    this.#letStandGo();
  }

  #letStandGo(): void {
    if (this.#stand !== undefined) told("losetup", "--detach", this.#stand);
    this.#stand = undefined;
  }
}
