import { mkdir, open, readFile, rename, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import { array, parse, pipe, regex, strictObject, string } from "valibot";

import { codeOf, Failure } from "../failure.js";

const kMaxBytes = 64 * 1024;
const place = pipe(string(), regex(/^[a-z0-9._-]+:[0-9]{1,5}$/));
const schema = strictObject({ allow: array(place) });

/**
 * Where what is allowed for good is kept.
 * @param {NodeJS.ProcessEnv} env
 */
export function rememberedFile(env) {
  const config = env.XDG_CONFIG_HOME || join(homedir(), ".config");
  return join(config, "demo-node", "network.json");
}

/** The hosts that were allowed for good, "host:port" each, in a file of the user's. */
export class Remembered {
  #file;
  #allow;

  /**
   * @param {string} file
   * @param {readonly string[]} [allow]
   */
  constructor(file, allow = []) {
    this.#file = file;
    this.#allow = new Set(allow);
  }

  /**
   * @param {string} file that need not be there
   * @throws {Failure} (rejects) where it can't be read, or holds something else: it decides what commands
   *   may reach, so nothing of it is guessed.
   */
  static async read(file) {
    try {
      const found = await stat(file);
      if (!found.isFile() || found.size > kMaxBytes)
        throw new Error("it is no file of at most 64 KiB");
      return new Remembered(file, parse(schema, JSON.parse(await readFile(file, "utf8"))).allow);
    } catch (cause) {
      if (codeOf(cause) === "ENOENT") return new Remembered(file);
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Failure(`can't read ${file}, which says what commands may reach: ${why}`, {
        cause,
      });
    }
  }

  get allow() {
    return [...this.#allow];
  }

  /** @param {string} name "host:port" */
  async add(name) {
    this.#allow.add(name);
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const written = `${this.#file}.${process.pid}`;
    const handle = await open(written, "w", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify({ allow: this.allow }, null, 2)}\n`);
    } finally {
      await handle.close();
    }
    await rename(written, this.#file);
  }
}
