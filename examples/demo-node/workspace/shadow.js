import { lstat, mkdir, mkdtemp, realpath, rm, stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { LocalNativeRunner } from "@openagentic/native-runner";

import { codeOf, Failure } from "../failure.js";
import { changesBetween } from "./change.js";
import { commitChanges } from "./commit.js";
import { copyProject } from "./copy.js";
import { takeSnapshot } from "./snapshot.js";

/**
 * @typedef {import("./change.js").Change} Change
 * @typedef {import("./copy.js").LeftOut} LeftOut
 * @typedef {import("./entry.js").Entry} Entry
 */

/** @param {string} directory */
async function realDirectory(directory) {
  const real = await realpath(directory).catch(() => undefined);
  if (real === undefined || !(await stat(real)).isDirectory()) {
    throw new Failure(`--project ${directory} is no directory`, { exitCode: 2 });
  }
  return real;
}

/**
 * A copy of a project that commands may do with as they like. Nothing of it reaches the project but
 * by `commit`. Whoever made it removes it.
 */
export class ShadowWorkspace {
  #base;
  #made;
  #rules;
  /** @type {Map<string, Entry>} */
  #committed;

  /**
   * @param {{ project: string, base: string, made: import("node:fs").BigIntStats, leftOut: LeftOut[],
   *   committed: Map<string, Entry>, rules: import("./ignore-rules.js").IgnoreRules }} parts
   */
  constructor({ project, base, made, leftOut, committed, rules }) {
    this.project = project;
    this.directory = path.join(base, "workspace");
    /** What of the project was not copied, and why; ignored files are not among it. */
    this.leftOut = leftOut;
    this.#base = base;
    this.#made = made;
    this.#rules = rules;
    this.#committed = committed;
  }

  /**
   * Copies the project into a directory of its own below the temporary directory (TMPDIR).
   * @param {string} directory
   */
  static async of(directory) {
    const project = await realDirectory(directory);
    const parent = await realpath(os.tmpdir());
    if (`${parent}/`.startsWith(project === "/" ? "/" : `${project}/`)) {
      throw new Failure(`the copy would lie in the project itself; set TMPDIR out of ${project}`);
    }
    const base = await mkdtemp(path.join(parent, "demo-node-"));
    try {
      const target = path.join(base, "workspace");
      await mkdir(target);
      const { rules, leftOut } = await copyProject(project, target);
      const { entries } = await takeSnapshot(target, rules);
      const made = await lstat(target, { bigint: true });
      return new ShadowWorkspace({ project, base, made, leftOut, committed: entries, rules });
    } catch (error) {
      await rm(base, { recursive: true, force: true });
      throw error;
    }
  }

  /** Files and links that were copied. */
  get fileCount() {
    return [...this.#committed.values()].filter(({ kind }) => kind !== "directory").length;
  }

  /**
   * That the workspace is still the directory that was made. A command that may write next to it (any
   * without a sandbox, and under Landlock in /tmp) could put a link to the project in its place. To be
   * asked before every use: between two commands nothing of theirs is alive that could do so.
   */
  async verify() {
    const now = await lstat(this.directory, { bigint: true }).catch(() => undefined);
    const { dev, ino } = this.#made;
    if (now?.isDirectory() && now.dev === dev && now.ino === ino) return;
    throw new Failure(`${this.directory} is not the workspace any more; a command has replaced it`);
  }

  /**
   * What is different from the project as it was copied, or last committed to.
   * @returns {Promise<{ changes: Change[], leftOut: LeftOut[] }>}
   */
  async changes() {
    await this.verify();
    const now = await takeSnapshot(this.directory, this.#rules);
    return { changes: changesBetween(this.#committed, now), leftOut: now.leftOut };
  }

  /**
   * Writes all changes into the project, or none and says why.
   */
  async commit() {
    const { changes, leftOut } = await this.changes();
    const places = { project: this.project, shadow: this.directory };
    const conflicts = await commitChanges(changes, places);
    if (conflicts.length === 0) {
      for (const { place, after } of changes) {
        if (after === undefined) this.#committed.delete(place);
        else this.#committed.set(place, after);
      }
    }
    return { changes, leftOut, conflicts };
  }

  /** Removes it, whatever commands have left there: modes without access, paths too long for Node. */
  async remove() {
    try {
      await rm(this.#base, { recursive: true, force: true });
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      await this.verify();
      const runner = new LocalNativeRunner({ shadowDir: this.#base });
      const script = "chmod -R u+rwX workspace; rm -rf workspace";
      await runner.exec({ argv: ["sh", "-c", script], limits: { timeoutMs: Infinity } });
      await rm(this.#base, { recursive: true, force: true });
    }
  }
}
