import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import { Access } from "./access/access.js";
import { makeClient } from "./model/client.js";
import { Conversation } from "./model/conversation.js";
import { instructions } from "./model/instructions.js";
import { Consent } from "./network/consent.js";
import { Remembered, rememberedFile } from "./network/remembered.js";
import { selectSandbox } from "./sandbox.js";
import { changeList, matterList, patchText } from "./terminal/change-report.js";
import { CommandView } from "./terminal/command-view.js";
import { plainLine, plainPiece } from "./terminal/plain-text.js";
import { BashTool } from "./tools/bash.js";
import { RequestAccessTool } from "./tools/request-access.js";
import { notableChanges, pathsOf } from "./workspace/change.js";
import { Project } from "./workspace/project.js";

/**
 * @typedef {{ in?: NodeJS.ReadStream, out: NodeJS.WriteStream, err: NodeJS.WriteStream }} Streams
 * @typedef {import("./program.js").DemoOptions} DemoOptions
 */

/**
 * Where the transactions and what is remembered are kept.
 * @param {NodeJS.ProcessEnv} env
 */
async function ownDirectories(env) {
  const state = env.XDG_STATE_HOME || join(homedir(), ".local/state");
  const named = [join(state, "openagentic"), dirname(rememberedFile(env))];
  // Grants name what is behind links; what is not there yet has none.
  return Promise.all(named.map((place) => realpath(place).catch(() => place)));
}

/** A model, its tool, the sandbox and the project, from the first request to the last. */
export class Session {
  #sandbox;
  #project;
  #tool;
  #conversation;
  #streams;
  #consent;
  #access;
  #isKept = false;

  /**
   * @param {{ sandbox: import("./sandbox.js").Sandbox, project: Project, tool: BashTool,
   *   conversation: Conversation, streams: Streams, consent: Consent,
   *   access: Access }} parts
   */
  constructor({ sandbox, project, tool, conversation, streams, consent, access }) {
    this.#sandbox = sandbox;
    this.#project = project;
    this.#tool = tool;
    this.#conversation = conversation;
    this.#streams = streams;
    this.#consent = consent;
    this.#access = access;
  }

  /**
   * Who is asked from now on what commands may reach and see; nobody: all of that is denied.
   * @param {import("./network/consent.js").Ask | undefined} ask
   */
  askBy(ask) {
    this.#consent.ask = ask;
    this.#access.ask = ask;
  }

  /**
   * @param {DemoOptions} options
   * @param {NodeJS.ProcessEnv} env
   * @param {Streams} streams
   */
  static async open(options, env, streams) {
    const client = makeClient(env);
    const say = (/** @type {string} */ line) => streams.err.write(`${line}\n`);
    const consent = new Consent(await Remembered.read(rememberedFile(env)));
    // Where nobody could be asked and nothing is remembered, no network at all is the same and costs less.
    const mayAsk = streams.in?.isTTY === true || consent.mayAllow;
    const sandbox = await selectSandbox(env, say, mayAsk ? consent : undefined, options.secret);
    const project = await Project.open(options.project, sandbox);
    const { directory, id } = project;
    say(`demo-node: working on ${plainLine(directory)} in transaction ${id}: it stays as it is`);
    // An audit log gets each decision here, as a second argument: `(decision) => log.append(…)`.
    const access = new Access([directory, ...(await ownDirectories(env))]);
    const tool = new BashTool({
      runner: (mounts) => project.runnerWith(mounts),
      progress: new CommandView(streams.err),
      access,
    });
    const conversation = new Conversation({
      client,
      tools: [tool, new RequestAccessTool(access)],
      model: options.model,
      maxRounds: options.maxRounds,
      instructions: instructions(sandbox.isConfined, options.secret),
      onText: (delta) => streams.out.write(plainPiece(delta)),
    });
    return new Session({ sandbox, project, tool, conversation, streams, consent, access });
  }

  /** @param {string} text */
  #say(text) {
    this.#streams.out.write(text);
  }

  /**
   * One request, to the model's last word on it.
   * @param {string} text
   * @param {AbortSignal} signal
   */
  async ask(text, signal) {
    await this.#conversation.ask(text, signal);
  }

  /** Where things are, and what has changed. */
  async status() {
    const { name, isConfined } = this.#sandbox;
    const { directory, id, backend } = this.#project;
    const layers = this.#tool.lastAudit?.layers;
    this.#say(`project:     ${plainLine(directory)}\n`);
    this.#say(`transaction: ${id} (${backend})\n`);
    this.#say(`sandbox:     ${isConfined ? name : "none"}\n`);
    if (layers !== undefined) this.#say(`layers of the last command: ${layers.join(", ")}\n`);
    await this.showChanges();
  }

  /**
   * @param {string} [how] how to have them written
   * @returns {Promise<number>} how many there are
   */
  async showChanges(how = "/commit writes them") {
    const { changes, leftOut } = await this.#project.changes();
    if (changes.length === 0) this.#say("no changes\n");
    else this.#say(`changes, not in the project yet (${how}):\n`);
    this.#say(await changeList(changes, this.#project));
    this.#showLeftOut(leftOut);
    return changes.length;
  }

  /** Before anything is done: what was discarded on a review page is followed by another transaction. */
  async ready() {
    await this.#project.ready();
  }

  /** A page in a browser on which the changes are reviewed, while the conversation goes on. */
  async review() {
    this.#say(`review the changes at ${await this.#project.review()}\n`);
  }

  async showDiff() {
    const { changes, leftOut } = await this.#project.changes();
    const paths = leftOut.length === 0 ? undefined : pathsOf(changes, leftOut);
    this.#say(changes.length === 0 ? "no changes\n" : patchText(await this.#project.diff(paths)));
    this.#showLeftOut(leftOut);
  }

  /**
   * @param {import("./workspace/project.js").Matter[]} leftOut
   */
  #showLeftOut(leftOut) {
    if (leftOut.length > 0) this.#say(`never committed:\n${matterList(leftOut)}`);
  }

  /**
   * Writes the changes into the project, or says what stands in the way.
   * @param {string[]} [paths] only what is at these paths
   * @param {string[]} [allowProtected]
   * @returns {Promise<boolean>} whether they are there now
   */
  async commit(paths, allowProtected) {
    const listBefore = await this.#listOf(paths);
    const answer = await this.#project.commit(paths, allowProtected);
    const { committed, leftOut, conflicts, refused } = answer;
    if (conflicts.length > 0) {
      this.#say(`conflict: nothing was written to the project\n${matterList(conflicts)}`);
      return false;
    }
    if (refused.length > 0) {
      this.#say(`protected: nothing was written to the project\n${matterList(refused)}`);
      this.#say("look at it with /diff; /commit --allow-protected PATH writes it all the same\n");
      return false;
    }
    this.#say(committed.length === 0 ? "nothing to commit\n" : `committed:\n${listBefore}`);
    this.#showLeftOut(leftOut);
    return true;
  }

  /** @param {string[] | undefined} paths */
  async #listOf(paths) {
    const { changes } = await this.#project.changes();
    const isNamed = (/** @type {string} */ place) =>
      paths === undefined || paths.some((path) => `${place}/`.startsWith(`${path}/`));
    return changeList(
      changes.filter((change) => isNamed(change.path)),
      this.#project,
    );
  }

  /** Takes the last commit back. */
  async undo() {
    const matters = await this.#project.undo();
    if (matters.length === 0) this.#say("undone: the project is as before the last commit\n");
    else this.#say(`conflict: nothing was undone\n${matterList(matters)}`);
  }

  /** How many changes would be lost by closing. */
  async uncommitted() {
    return notableChanges((await this.#project.changes()).changes).length;
  }

  /** Leaves the changes to the user, who could not have them otherwise. */
  keepChanges() {
    this.#isKept = true;
    const { id } = this.#project;
    this.#say(`the changes wait in transaction ${id}: npx native-runner tx show ${id}\n`);
  }

  /** What was not committed is gone with it, unless it is kept. */
  async close() {
    if (this.#isKept) await this.#project.keep();
    else await this.#project.discard();
  }
}
