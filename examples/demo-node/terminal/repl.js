import { createInterface } from "node:readline";
import pc from "picocolors";

import { Failure } from "../failure.js";
import { askIn } from "./ask.js";

/** @typedef {import("../session.js").Session} Session */

const kHelp = `/status  where things are, and what has changed
/diff    the changes as a diff
/review  look at them in a browser, choose, commit and undo there
/commit  write the changes into the project; /commit PATH ...: only these
/undo    take the last commit back
/try N TASK  N agents at one task at once, each on a branch of its own; then
/adopt N     goes on with what branch N has
/drop        goes on with none of them
/exit    leave; what is not committed is thrown away
Anything else goes to the model. Ctrl-C interrupts it.
`;

/** Agents of one /try. */
const kFewest = 2;
const kMost = 16;

/**
 * The number behind a command; undefined for none.
 * @param {string} line
 */
function numberIn(line) {
  const [, digits] = /^\/\w+\s+([1-9]\d?)$/.exec(line) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** @param {number} count */
const countOf = (count) => (count === 1 ? "1 change" : `${count} changes`);

/** A conversation at the terminal, or line by line from a pipe. */
export class Repl {
  #session;
  #reportError;
  #explain;
  #isExitConfirmed = false;

  /**
   * @param {Session} session
   * @param {(error: unknown) => void} reportError what one turn failed with; the next may go well
   * @param {(error: unknown) => string} explain the same in words
   */
  constructor(session, reportError, explain) {
    this.#session = session;
    this.#explain = explain;
    this.#reportError = reportError;
  }

  /**
   * Until /exit, the end of the input, or `signal`.
   * @param {AbortSignal} signal
   */
  async run(signal) {
    const isTerminal = process.stdin.isTTY === true;
    const lines = createInterface({
      input: process.stdin,
      ...(isTerminal && { output: process.stdout }),
      prompt: pc.bold("> "),
      signal, // closes it
    });
    /** @type {AbortController | undefined} */
    let turn;
    lines.on("SIGINT", () => (turn ? turn.abort() : lines.close()));
    signal.addEventListener("abort", () => turn?.abort());
    if (isTerminal) this.#session.askBy(askIn(lines));
    let isOpen = isTerminal;
    let isDone = false;
    lines.once("close", () => {
      isOpen = false;
    });
    if (isTerminal) process.stdout.write(pc.dim("/help shows the commands\n"));
    if (isOpen) lines.prompt();
    for await (const line of lines) {
      turn = new AbortController();
      const goesOn = await this.#handle(line.trim(), turn.signal).catch((error) => {
        this.#reportError(error);
        return true;
      });
      turn = undefined;
      isDone = !goesOn || signal.aborted;
      if (isDone) break;
      if (isOpen) lines.prompt();
    }
    this.#session.askBy(undefined);
    lines.close();
    const lost = await this.#session.uncommitted();
    if (isTerminal && !isDone) process.stdout.write("\n"); // Ctrl-D leaves the cursor at the prompt
    if (lost > 0) process.stdout.write(`not committed, thrown away: ${countOf(lost)}\n`);
  }

  /**
   * @param {string} line
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>} whether it goes on
   */
  async #handle(line, signal) {
    if (line === "/exit") return this.#stays();
    this.#isExitConfirmed = false;
    if (line === "") return true;
    await this.#session.ready();
    if (line === "/status") await this.#session.status();
    else if (/^\/diff(\s|$)/.test(line)) await this.#session.showDiff(numberIn(line));
    else if (/^\/try(\s|$)/.test(line)) await this.#try(line, signal);
    else if (/^\/adopt(\s|$)/.test(line)) await this.#adopt(line);
    else if (line === "/drop") await this.#session.drop();
    else if (/^\/commit(\s|$)/.test(line)) await this.#commit(line.split(/\s+/).slice(1));
    else if (line === "/review") await this.#session.review();
    else if (line === "/undo") await this.#undo();
    else if (line.startsWith("/")) process.stdout.write(kHelp);
    else {
      this.#session.expectDecided();
      await this.#session.ask(line, signal);
      await this.#session.showChanges();
    }
    return true;
  }

  /**
   * @param {string} line
   * @param {AbortSignal} signal
   */
  async #try(line, signal) {
    const [, digits, task = ""] = /^\/try\s+(\d{1,3})\s+(.+)$/.exec(line) ?? [];
    const count = Number(digits);
    if (task === "" || count < kFewest || count > kMost) {
      throw new Failure(`Expected /try N TASK with N from ${kFewest} to ${kMost}`);
    }
    await this.#session.tryAtOnce(count, task, this.#explain, signal);
  }

  /** @param {string} line */
  async #adopt(line) {
    const number = numberIn(line);
    if (number === undefined) throw new Failure("Expected /adopt N with the number of a branch");
    await this.#session.adopt(number);
  }

  async #undo() {
    this.#session.expectDecided();
    await this.#session.undo();
  }

  /** @param {string[]} words behind /commit */
  async #commit(words) {
    this.#session.expectDecided();
    const at = words.indexOf("--allow-protected");
    const paths = at === -1 ? words : words.slice(0, at);
    const allowed = at === -1 ? [] : words.slice(at + 1);
    await this.#session.commit(paths.length > 0 ? paths : undefined, allowed);
  }

  /** The first /exit with changes left only says so. */
  async #stays() {
    const count = this.#isExitConfirmed ? 0 : await this.#session.uncommitted();
    if (count === 0) return false;
    this.#isExitConfirmed = true;
    process.stdout.write(`not committed: ${countOf(count)}; /exit again throws that away\n`);
    return true;
  }
}
