import { constants } from "node:fs";
import { chmod, copyFile, link, lstat, mkdtemp, rm } from "node:fs/promises";
import path from "node:path";

import { codeOf } from "../failure.js";

/** Where no hard link can be made: on FAT and some network file systems. */
const kNoLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK"]);

/**
 * A directory in the project, so on its file system, for files on their way in and out of it. One
 * commit owns it.
 */
export class Staging {
  #directory;
  #count = 0;

  /** @param {string} directory */
  constructor(directory) {
    this.#directory = directory;
  }

  /** @param {string} project */
  static async make(project) {
    return new Staging(await mkdtemp(path.join(project, ".demo-node-commit-")));
  }

  get directory() {
    return this.#directory;
  }

  /** A path in it that nothing has. */
  newName() {
    this.#count += 1;
    return path.join(this.#directory, String(this.#count));
  }

  /**
   * A copy of `source` that gets its mode from what it replaces, or from the umask when that is
   * nothing; of the command's mode only `executable` counts, as with git.
   *
   * @param {string} source
   * @param {string} replaced
   * @param {boolean} executable
   * @returns {Promise<string>}
   */
  async copy(source, replaced, executable) {
    const name = this.newName();
    const old = await lstat(replaced).catch(() => undefined);
    const base = old?.isFile() ? old.mode & 0o666 : 0o666 & ~process.umask();
    await copyFile(source, name, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    await chmod(name, executable ? base | ((base & 0o444) >> 2) : base);
    return name;
  }

  /**
   * Gives a staged file its name in the project, never over something that is there (EEXIST).
   * @param {string} name
   * @param {string} target
   */
  async install(name, target) {
    try {
      await link(name, target); // with the staged name gone, the only one
    } catch (error) {
      if (!kNoLinks.has(codeOf(error) ?? "")) throw error;
      await copyFile(name, target, constants.COPYFILE_EXCL);
    }
  }

  async remove() {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
