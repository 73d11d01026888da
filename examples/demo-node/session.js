import { makeClient } from "./model/client.js";
import { Conversation } from "./model/conversation.js";
import { instructions } from "./model/instructions.js";
import { commandEnvironment, selectSandbox } from "./sandbox.js";
import { changeList, changePatch, matterList } from "./terminal/change-report.js";
import { CommandView } from "./terminal/command-view.js";
import { plainLine, plainPiece } from "./terminal/plain-text.js";
import { BashTool } from "./tools/bash.js";
import { notableChanges } from "./workspace/change.js";
import { ShadowWorkspace } from "./workspace/shadow.js";

/**
 * @typedef {{ out: NodeJS.WriteStream, err: NodeJS.WriteStream }} Streams
 * @typedef {import("./program.js").DemoOptions} DemoOptions
 */

/** A model, its tool, the sandbox and the shadow workspace, from the first request to the last. */
export class Session {
  #sandbox;
  #shadow;
  #tool;
  #conversation;
  #streams;
  #isKept = false;

  /**
   * @param {{ sandbox: import("./sandbox.js").Sandbox, shadow: ShadowWorkspace, tool: BashTool,
   *   conversation: Conversation, streams: Streams }} parts
   */
  constructor({ sandbox, shadow, tool, conversation, streams }) {
    this.#sandbox = sandbox;
    this.#shadow = shadow;
    this.#tool = tool;
    this.#conversation = conversation;
    this.#streams = streams;
  }

  /**
   * @param {DemoOptions} options
   * @param {NodeJS.ProcessEnv} env
   * @param {Streams} streams
   */
  static async open(options, env, streams) {
    const client = makeClient(env);
    const say = (/** @type {string} */ line) => streams.err.write(`${line}\n`);
    const sandbox = await selectSandbox(env, say);
    const shadow = await ShadowWorkspace.of(options.project);
    const { fileCount, leftOut, project } = shadow;
    const without = leftOut.length > 0 ? `, without ${leftOut.length} that can't be copied` : "";
    say(`demo-node: working on a copy of ${plainLine(project)} (${fileCount} files${without})`);
    const runner = sandbox.runner({ shadowDir: shadow.directory });
    const tool = new BashTool({
      runner,
      environment: commandEnvironment(sandbox),
      progress: new CommandView(streams.err),
      verifyWorkspace: () => shadow.verify(),
    });
    const conversation = new Conversation({
      client,
      tool,
      model: options.model,
      maxRounds: options.maxRounds,
      instructions: instructions(sandbox.isConfined),
      onText: (delta) => streams.out.write(plainPiece(delta)),
    });
    return new Session({ sandbox, shadow, tool, conversation, streams });
  }

  get #places() {
    return { project: this.#shadow.project, shadow: this.#shadow.directory };
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
    const layers = this.#tool.lastAudit?.layers;
    this.#say(`project:   ${plainLine(this.#shadow.project)}\n`);
    this.#say(`workspace: ${this.#shadow.directory} (${this.#shadow.fileCount} files)\n`);
    this.#say(`sandbox:   ${isConfined ? name : "none"}\n`);
    if (layers !== undefined) this.#say(`layers of the last command: ${layers.join(", ")}\n`);
    if (this.#shadow.leftOut.length > 0) {
      this.#say(`not copied:\n${matterList(this.#shadow.leftOut)}`);
    }
    await this.showChanges();
  }

  /**
   * @param {string} [how] how to have them written
   * @returns {Promise<number>} how many there are
   */
  async showChanges(how = "/commit writes them") {
    const { changes, leftOut } = await this.#shadow.changes();
    if (changes.length === 0) this.#say("no changes\n");
    else this.#say(`changes, not in the project yet (${how}):\n`);
    this.#say(await changeList(changes, this.#places));
    this.#showLeftOut(leftOut);
    return changes.length;
  }

  async showDiff() {
    const { changes, leftOut } = await this.#shadow.changes();
    this.#say(changes.length === 0 ? "no changes\n" : await changePatch(changes, this.#places));
    this.#showLeftOut(leftOut);
  }

  /**
   * @param {import("./workspace/copy.js").LeftOut[]} leftOut
   */
  #showLeftOut(leftOut) {
    if (leftOut.length > 0) this.#say(`never committed:\n${matterList(leftOut)}`);
  }

  /**
   * Writes the changes into the project, or says what stands in the way.
   * @returns {Promise<boolean>} whether they are there now
   */
  async commit() {
    const listBefore = await changeList((await this.#shadow.changes()).changes, this.#places);
    const { changes, leftOut, conflicts } = await this.#shadow.commit();
    if (conflicts.length > 0) {
      this.#say(`conflict: nothing was written to the project\n${matterList(conflicts)}`);
      return false;
    }
    this.#say(changes.length === 0 ? "nothing to commit\n" : `committed:\n${listBefore}`);
    this.#showLeftOut(leftOut);
    return true;
  }

  /** How many changes would be lost by closing. */
  async uncommitted() {
    return notableChanges((await this.#shadow.changes()).changes).length;
  }

  /** Leaves the workspace to the user, who could not have what is in it otherwise. */
  keepWorkspace() {
    this.#isKept = true;
    this.#say(`the changed copy is kept: ${this.#shadow.directory}\n`);
  }

  /** Removes the workspace. */
  async close() {
    if (!this.#isKept) await this.#shadow.remove();
  }
}
