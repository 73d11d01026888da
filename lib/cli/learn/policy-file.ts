/** The file that several runs are learned into. */

import { randomBytes } from "node:crypto";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import type { RuntimeConfig } from "../../runtime/config/config.js";
import { parseConfigText } from "../../runtime/config/config-file.js";
import { CliError } from "../terminal.js";
import type { Learned } from "./learned.js";
import { grantsIn, kPolicyHeader } from "./policy-text.js";

const kNewMode = 0o644;

/** A file as it was before. */
export type PolicyFile = {
  /** Behind links. */
  path: string;
  /** Its text; undefined where there is no file. */
  text: string | undefined;
};

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** @throws (rejects) CliError for a file that `learn` has not written, or that can't be read. */
export async function readPolicyFile(name: string): Promise<PolicyFile> {
  const path = resolve(name);
  let text: string;
  try {
    text = (await readRegularFile(path, kMaxConfigBytes)).toString("utf8");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") {
      throw new CliError(`--into ${name}: ${(error as Error).message}`, 2, "name another file");
    }
    await expectDirectory(name, dirname(path));
    return { path, text: undefined };
  }
  if (!text.startsWith(`${kPolicyHeader}\n`)) {
    throw new CliError(
      `--into ${name}: learn has not written this file: its first line is not "${kPolicyHeader}"`,
      2,
      "name another file; --config FILE starts from a configuration that is there",
    );
  }
  return { path: await realpath(path), text };
}

async function expectDirectory(name: string, path: string): Promise<void> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory) throw new CliError(`--into ${name}: ${path} is no directory`, 2, "create it");
}

/** What it has. @throws TypeError that names what is wrong with it. */
export function learnedBefore({ path, text = "{}" }: PolicyFile): {
  config: RuntimeConfig;
  grants: Learned[];
} {
  const config = parseConfigText(text, path);
  return { config, grants: grantsIn(config, text) };
}

/**
 * Puts the text in the file's place, all or nothing.
 * @throws (rejects) CliError where the file is another than was read; the file system's errors.
 */
export async function writePolicyFile(file: PolicyFile, text: string): Promise<void> {
  const { path } = file;
  const mode = await stat(path).then(
    ({ mode }) => mode & 0o777,
    () => kNewMode,
  );
  const staged = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);
  try {
    const handle = await open(staged, "wx", mode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const now = await readPolicyFile(path);
    if (now.text !== file.text) {
      throw new CliError(
        `${path} was changed while this ran, and is left as it is`,
        1,
        "try again",
      );
    }
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true });
    throw error;
  }
}
