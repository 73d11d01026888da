import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import { Access } from "./access/access.js";
import { branchTable } from "./branches/branch-table.js";
import { tryAtOnce } from "./branches/branches.js";
import { LabelledStream } from "./branches/labelled-stream.js";
import { findTestCommand } from "./branches/test-command.js";
import { Failure } from "./failure.js";
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
  #closed;
  #testCommand;
  #isKept = false;
  /** @type {import("./network/consent.js").Ask | undefined} */
  #ask;
  /** @type {Promise<unknown>} the last question: one is asked after the other */
  #asking = Promise.resolve();
  /** @type {import("./branches/branches.js").Branch[]} which wait for `adopt` or `drop` */
  #branches = [];

  /**
   * @param {{ sandbox: import("./sandbox.js").Sandbox, project: Project, tool: BashTool,
   *   conversation: Conversation, streams: Streams, consent: Consent,
   *   access: Access, closed: string[], testCommand: string | undefined }} parts
   *   `closed`: host paths that no grant may reach
   */
  constructor({
    sandbox,
    project,
    tool,
    conversation,
    streams,
    consent,
    access,
    closed,
    testCommand,
  }) {
    this.#sandbox = sandbox;
    this.#project = project;
    this.#tool = tool;
    this.#conversation = conversation;
    this.#streams = streams;
    this.#consent = consent;
    this.#access = access;
    this.#closed = closed;
    this.#testCommand = testCommand;
  }

  /**
   * Who is asked from now on what commands may reach and see; nobody: all of that is denied.
   * @param {import("./network/consent.js").Ask | undefined} ask
   */
  askBy(ask) {
    this.#ask =
      ask &&
      ((question, signal) => {
        const turn = this.#asking.then(() => ask(question, signal));
        this.#asking = turn.catch(() => {});
        return turn;
      });
    this.#consent.ask = this.#ask;
    this.#access.ask = this.#ask;
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
    const closed = [directory, ...(await ownDirectories(env))];
    const access = new Access(closed);
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
    const own = { closed, testCommand: options.test };
    return new Session({ sandbox, project, tool, conversation, streams, consent, access, ...own });
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

  /**
   * Several agents at one task at once, each with this talk so far and a branch of its own; then what became of
   * each. The branches wait for `adopt` or `drop`.
   * @param {number} count
   * @param {string} task
   * @param {(error: unknown) => string} explain in words what an agent has failed with
   * @param {AbortSignal} signal
   */
  async tryAtOnce(count, task, explain, signal) {
    this.expectDecided();
    const project = this.#project;
    const testCommand = this.#testCommand ?? (await findTestCommand(project.files));
    const tests =
      testCommand === undefined ? "no tests were found (--test names some)" : testCommand;
    this.#streams.err.write(
      `demo-node: ${count} agents on ${count} branches; tests: ${plainLine(tests)}\n`,
    );
    const agentOn = this.#agentOn.bind(this);
    const tries = { project, count, task, testCommand, agentOn, explain, signal };
    this.#branches = await tryAtOnce(tries);
    this.#say(branchTable(this.#branches));
    this.#say(
      "/adopt N takes one, /diff N shows it, /review shows all in a browser, /drop takes none\n",
    );
  }

  /**
   * An agent like the session's, on a branch. What a person grants it is for this branch alone.
   * @param {Project} branch
   * @param {number} number
   */
  #agentOn(branch, number) {
    const out = new LabelledStream(this.#streams.out, `[${number}]`);
    const err = new LabelledStream(this.#streams.err, `[${number}]`);
    const access = new Access(this.#closed);
    const ask = this.#ask;
    if (ask) access.ask = (question, signal) => ask(`branch ${number}:\n${question}`, signal);
    const runner = branch.runnerWith.bind(branch);
    const progress = new CommandView(/** @type {any} */ (err));
    const tool = new BashTool({ runner, progress, access });
    const conversation = this.#conversation.fork({
      tools: [tool, new RequestAccessTool(access)],
      onText: (delta) => out.write(plainPiece(delta)),
    });
    const end = () => {
      out.end();
      err.end();
    };
    return { conversation, end };
  }

  /** @throws Failure while branches wait: what is done meanwhile would be lost to the one that is taken */
  expectDecided() {
    if (this.#branches.length === 0) return;
    throw new Failure("the branches wait: /adopt N, /review or /drop first");
  }

  /** @param {number} number */
  #branch(number) {
    const found = this.#branches.find((each) => each.number === number);
    if (found !== undefined) return found;
    const some = this.#branches.length === 0 ? "none" : `1 to ${this.#branches.length}`;
    throw new Failure(`there is no branch ${number} (there are: ${some})`);
  }

  /**
   * Goes on with what one of the branches has, its talk too. The others are gone.
   * @param {number} number
   */
  async adopt(number) {
    const { project, conversation } = this.#branch(number);
    await this.#project.adopt(project);
    this.#conversation.adopt(conversation);
    await this.drop();
    this.#say(`adopted branch ${number}\n`);
    await this.showChanges();
  }

  /** Goes on as if no branch had been. */
  async drop() {
    const branches = this.#branches;
    this.#branches = [];
    await Promise.all(branches.map(({ project }) => project.discard()));
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

  /**
   * A page in a browser on which the changes are reviewed, while the conversation goes on. It shows the branches side
   * by side where some wait; one that is taken whole has its talk taken, too.
   */
  async review() {
    const branches = this.#branches.map(({ number, project, tests }) => ({
      project,
      name: `branch ${number}`,
      tests: tests && /** @type {"passed" | "failed"} */ (tests.isPassed ? "passed" : "failed"),
    }));
    const url = await this.#project.review(branches, (taken) => {
      const branch = this.#branches.find(({ project }) => project === taken);
      if (branch) this.#conversation.adopt(branch.conversation);
    });
    this.#say(`review the changes at ${url}\n`);
  }

  /** @param {number} [number] of a branch: what it has otherwise than the session */
  async showDiff(number) {
    if (number !== undefined) {
      const { patch } = await this.#project.comparedWith(this.#branch(number).project);
      this.#say(patch === "" ? "no changes\n" : patchText(patch ?? "too large to be shown\n"));
      return;
    }
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

  /** How many changes would be lost by closing, those of branches too. */
  async uncommitted() {
    const own = notableChanges((await this.#project.changes()).changes).length;
    return this.#branches.reduce((sum, { files }) => sum + files, own);
  }

  /** Leaves the changes to the user, who could not have them otherwise. */
  keepChanges() {
    this.#isKept = true;
    const { id } = this.#project;
    this.#say(`the changes wait in transaction ${id}: npx native-runner tx show ${id}\n`);
  }

  /** What was not committed is gone with it, unless it is kept. */
  async close() {
    await this.drop();
    if (this.#isKept) await this.#project.keep();
    else await this.#project.discard();
  }
}
