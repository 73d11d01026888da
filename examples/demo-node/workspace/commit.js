/**
 * Carries changes from the shadow workspace into the project: all of them or none.
 *
 * What is to come is first copied next to where it will stand, so that a full disk shows before
 * anything is touched. What is replaced is moved aside and compared there, so that the check and the
 * replacing are about the same file, however an editor races with it.
 * @module
 */

import { mkdir, readlink, rename, rmdir, symlink } from "node:fs/promises";
import path from "node:path";

import { codeOf, Failure } from "../failure.js";
import { compareWithProject } from "./conflict.js";
import { isSame, readEntry } from "./entry.js";
import { Staging } from "./staging.js";
import { UndoLog } from "./undo-log.js";

/**
 * @typedef {import("./change.js").Change} Change
 * @typedef {import("./conflict.js").Conflict} Conflict
 * @typedef {{ project: string, shadow: string }} Places
 */

/** Found when the first look at the project is over: everything is rolled back. */
class LateConflict extends Error {
  /**
   * @param {string} place
   * @param {string} [reason]
   */
  constructor(place, reason = "was changed in the project while committing") {
    super(`${place} ${reason}`);
    this.conflict = { place, reason };
  }
}

/** A directory that is not empty, by rmdir(2). */
const kNotEmpty = new Set(["ENOTEMPTY", "EEXIST"]);

class Commit {
  #places;
  #staging;
  #undo = new UndoLog();

  /**
   * @param {Places} places
   * @param {Staging} staging
   */
  constructor(places, staging) {
    this.#places = places;
    this.#staging = staging;
  }

  /** @param {readonly Change[]} changes sorted by path, so that parents come first */
  async run(changes) {
    const staged = await this.#stage(changes);
    try {
      for (const change of changes.toReversed()) await this.#takeAway(change);
      for (const change of changes) await this.#putThere(change, staged.get(change.place));
    } catch (error) {
      const failures = await this.#undo.rollBack();
      if (failures.length === 0) throw error;
      const where = `the files are in ${this.#staging.directory}`;
      throw new Failure(`a failed commit could not be undone, ${where}: ${failures.join("; ")}`, {
        cause: error,
      });
    }
  }

  /** @param {string} place */
  #inProject(place) {
    return path.join(this.#places.project, place);
  }

  /**
   * Copies of the files to come, by their path.
   * @param {readonly Change[]} changes
   */
  async #stage(changes) {
    /** @type {Map<string, string>} */
    const staged = new Map();
    for (const { place, after } of changes) {
      if (after?.kind !== "file") continue;
      const source = path.join(this.#places.shadow, place);
      const name = await this.#staging.copy(source, this.#inProject(place), after.executable);
      staged.set(place, name);
    }
    return staged;
  }

  /** @param {Change} change */
  async #takeAway({ place, before, after }) {
    if (before === undefined) return;
    if (before.kind === "directory") return this.#removeDirectory(place, after !== undefined);
    const file = this.#inProject(place);
    const aside = this.#staging.newName();
    try {
      await rename(file, aside);
    } catch (error) {
      throw codeOf(error) === "ENOENT" ? new LateConflict(place) : error;
    }
    this.#undo.add(() => this.#putBack(aside, file));
    if (!isSame(await readEntry(aside), before)) throw new LateConflict(place);
  }

  /**
   * A directory that still holds something (ignored files, new ones) stays, unless something else is
   * to stand in its place.
   * @param {string} place
   * @param {boolean} isReplaced
   */
  async #removeDirectory(place, isReplaced) {
    const directory = this.#inProject(place);
    try {
      await rmdir(directory);
    } catch (error) {
      if (!kNotEmpty.has(codeOf(error) ?? "")) throw error;
      if (isReplaced) throw new LateConflict(place, "holds files that are not in the copy");
      return;
    }
    this.#undo.add(() => mkdir(directory));
  }

  /**
   * Makes what is new, never over something that has come up there meanwhile.
   * @param {Change} change
   * @param {string | undefined} staged
   */
  async #putThere({ place, after }, staged) {
    if (after === undefined) return;
    const target = this.#inProject(place);
    try {
      if (staged !== undefined) await this.#staging.install(staged, target);
      else if (after.kind === "link") await symlink(after.target, target);
      else await mkdir(target);
    } catch (error) {
      throw codeOf(error) === "EEXIST" ? new LateConflict(place) : error;
    }
    this.#undo.add(() =>
      after.kind === "directory" ? rmdir(target) : this.#remove(target, after),
    );
  }

  /**
   * What was taken away returns, unless something newer has come up there meanwhile.
   * @param {string} aside
   * @param {string} file
   */
  async #putBack(aside, file) {
    try {
      const { kind } = (await readEntry(aside)) ?? {};
      if (kind === "link") await symlink(await readlink(aside), file);
      else if (kind === "file") await this.#staging.install(aside, file);
      else await rename(aside, file);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }

  /**
   * What was put there goes, unless it has been changed since.
   * @param {string} target
   * @param {Change["after"]} after
   */
  async #remove(target, after) {
    const aside = this.#staging.newName();
    try {
      await rename(target, aside);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      throw error;
    }
    if (!isSame(await readEntry(aside), after)) await this.#putBack(aside, target);
  }
}

/**
 * @param {readonly Change[]} changes sorted by path
 * @param {Places} places
 * @returns {Promise<Conflict[]>} why nothing was written; empty when all was
 */
export async function commitChanges(changes, places) {
  const { conflicts, pending } = await compareWithProject(places.project, changes);
  if (conflicts.length > 0 || pending.length === 0) return conflicts;
  const staging = await Staging.make(places.project);
  let isDone = true;
  try {
    await new Commit(places, staging).run(pending);
    return [];
  } catch (error) {
    isDone = !(error instanceof Failure);
    if (!(error instanceof LateConflict)) throw error;
    return [error.conflict];
  } finally {
    if (isDone) await staging.remove();
  }
}
