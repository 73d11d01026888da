import { realpath, stat } from "node:fs/promises";
import { BubblewrapNativeRunner, TransactionError } from "@openagentic/native-runner";
import { serveReview } from "@openagentic/native-runner/review";

import { Failure } from "../failure.js";
import { pathsOf, sortOut } from "./change.js";

/**
 * @typedef {import("@openagentic/native-runner").Transaction} Transaction
 * @typedef {import("@openagentic/native-runner").Change} Change
 * @typedef {import("../sandbox.js").Sandbox} Sandbox
 * @typedef {import("../access/granted.js").Mount} Mount
 * @typedef {{ place: string, reason: string }} Matter
 * @typedef {{ committed: Change[], leftOut: Matter[], conflicts: Matter[], refused: Matter[] }} Committed
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
 * Who opens transactions whose commands have these mounts.
 * @param {Sandbox} sandbox
 * @param {string} directory
 * @param {Mount[]} mounts
 */
function makeOpener(sandbox, directory, mounts) {
  const runner = sandbox.runner({ shadowDir: directory, mounts });
  if (runner instanceof BubblewrapNativeRunner) return runner;
  return new BubblewrapNativeRunner({ shadowDir: directory });
}

/**
 * A project, and the transaction in which commands work on it: nothing of what they do reaches it but
 * by `commit`. Whoever opened it closes it.
 */
export class Project {
  #sandbox;
  #opener;
  #transaction;
  #runner;
  /** @type {Mount[]} besides the sandbox's own */
  #mounts = [];
  /** @type {import("@openagentic/native-runner/review").ServedReview | undefined} */
  #page;
  /** @type {Promise<void> | undefined} */
  #anew;

  /**
   * @param {{ directory: string, sandbox: Sandbox, opener: BubblewrapNativeRunner,
   *   transaction: Transaction }} parts
   */
  constructor({ directory, sandbox, opener, transaction }) {
    /** Its real path. */
    this.directory = directory;
    this.#sandbox = sandbox;
    this.#opener = opener;
    this.#transaction = transaction;
    this.#runner = this.#makeRunner();
  }

  /**
   * Copies nothing, however large the project is.
   * @param {string} named
   * @param {Sandbox} sandbox what commands are to run in
   */
  static async open(named, sandbox) {
    const directory = await realDirectory(named);
    const opener = makeOpener(sandbox, directory, []);
    const transaction = await opener.openTransaction();
    return new Project({ directory, sandbox, opener, transaction });
  }

  /** The transaction's id. */
  get id() {
    return this.#transaction.id;
  }

  /** "overlay", or how else commands see what they have changed. */
  get backend() {
    return this.#transaction.backend;
  }

  /** The files as commands see them, for tools of the host. */
  get files() {
    return this.#transaction.files;
  }

  /** Runs a command in the transaction, as the sandbox has it. */
  get runner() {
    return this.#runner;
  }

  /**
   * The same with these mounts besides. The transaction is taken up anew where they are others than before, which ends nothing: commands run
   * one after the other.
   * @param {Mount[]} mounts
   */
  async runnerWith(mounts) {
    await this.#anew;
    if (JSON.stringify(mounts) !== JSON.stringify(this.#mounts)) {
      const opener = makeOpener(this.#sandbox, this.directory, mounts);
      this.#opener = opener;
      this.#mounts = mounts;
      await this.#goOn();
    }
    return this.#runner;
  }

  /** Another sandbox than Bubblewrap, or none, has to be put into the transaction. */
  #makeRunner() {
    const transaction = this.#transaction;
    if (this.#sandbox.name === "bubblewrap") return transaction;
    return this.#sandbox.runner({
      shadowDir: this.directory,
      transaction,
      mounts: this.#mounts,
    });
  }

  /** What is different from the project, and what of it never reaches that. */
  async changes() {
    return sortOut(await this.#transaction.changes());
  }

  /**
   * Projects that begin as this one is now; each goes on by itself.
   * @param {number} count
   * @returns {Promise<Project[]>}
   */
  async fork(count) {
    const forks = await this.#transaction.fork({ count });
    return forks.map((transaction) => {
      const parts = { directory: this.directory, sandbox: this.#sandbox, opener: this.#opener };
      return new Project({ ...parts, transaction });
    });
  }

  /**
   * Makes the files of this one those of a fork.
   * @param {Project} fork
   */
  async adopt(fork) {
    await this.#transaction.adopt(fork.#transaction);
  }

  /**
   * What a fork has otherwise than this one, and the same in git's format where that is not too large.
   * @param {Project} fork
   */
  async comparedWith(fork) {
    const changes = await fork.#transaction.changes({ since: this.#transaction });
    const patch = await fork.#transaction.diff({ since: this.#transaction }).catch(() => undefined); // too large for that
    return { changes, patch };
  }

  /**
   * The changes in git's format; of some paths, or of all.
   * @param {string[]} [paths]
   */
  async diff(paths) {
    return this.#transaction.diff({ ...(paths && { paths }) });
  }

  /**
   * Writes all changes into the project, or none and says why.
   * @param {string[]} [named] only what is at these paths
   * @param {string[]} [allowProtected] what may be changed although the host runs it by itself
   * @returns {Promise<Committed>}
   */
  async commit(named, allowProtected = []) {
    const all = await this.#transaction.changes({ ...(named && { paths: named }) });
    const { changes, leftOut } = sortOut(all);
    /** @type {Committed} */
    const answer = { committed: [], leftOut, conflicts: [], refused: [] };
    if (changes.length === 0) return answer;
    const isAll = named === undefined && leftOut.length === 0;
    const paths = isAll ? {} : { paths: pathsOf(changes, leftOut) };
    try {
      const { committed } = await this.#transaction.commit({ ...paths, allowProtected });
      answer.committed = committed;
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      const isConflict = error.code === "ERR_TRANSACTION_CONFLICT";
      const reason = isConflict
        ? "was changed in the project meanwhile"
        : "is run by itself: git, a shell or an editor would";
      const matters = error.paths.map((place) => ({ place, reason }));
      answer[isConflict ? "conflicts" : "refused"] = matters;
      return answer;
    }
    await this.#goOn();
    return answer;
  }

  /**
   * Takes the last commit back.
   * @returns {Promise<Matter[]>} why nothing was; empty when all was
   */
  async undo() {
    try {
      await this.#transaction.undo();
      return [];
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      const reason = "was changed in the project since";
      return error.paths.map((place) => ({ place, reason }));
    } finally {
      await this.#goOn();
    }
  }

  /**
   * Serves a page on which a person reviews the changes, commits, undoes and discards them. It ends when
   * the transaction is taken up anew, or with the next page.
   * @param {readonly { project: Project, name: string, tests: "passed" | "failed" | undefined }[]} [branches]
   *   to choose from
   * @param {(branch: Project) => void} [onTaken] called with one that was taken whole
   * @returns {Promise<string>} its address, which has a token
   */
  async review(branches = [], onTaken = () => {}) {
    await this.#page?.close();
    this.#page = await serveReview({
      transaction: this.#transaction,
      runner: this.#opener,
      branches: branches.map(({ project, ...its }) => ({
        ...its,
        transaction: project.#transaction,
      })),
      onTaken: ({ id }, paths) => {
        const taken = branches.find(({ project }) => project.id === id);
        if (taken && paths === undefined) onTaken(taken.project);
      },
      workspace: this.directory,
      onSettled: (state) => {
        if (state === "discarded") this.#anew = this.#openAnew();
      },
    });
    return this.#page.url;
  }

  /** What was discarded on the page is followed by another transaction, for the commands that come. */
  async #openAnew() {
    await this.#page?.close();
    this.#page = undefined;
    this.#transaction = await this.#opener.openTransaction();
    this.#runner = this.#makeRunner();
  }

  /** Resolves when there is a transaction to work in. */
  async ready() {
    await this.#anew;
  }

  /** A commit ends a transaction's commands, and so do other mounts: others run in it once it was taken up again. */
  async #goOn() {
    await this.#page?.close();
    this.#page = undefined;
    await this.#transaction.close();
    this.#transaction = await this.#opener.resumeTransaction(this.id);
    this.#runner = this.#makeRunner();
  }

  /** Leaves the project as it is; the transaction waits on disk. */
  async keep() {
    await this.#page?.close();
    await this.#transaction.close();
  }

  /** Leaves the project as it is, and nothing else. */
  async discard() {
    await this.#page?.close();
    await this.#anew;
    await this.#transaction.discard();
  }
}
