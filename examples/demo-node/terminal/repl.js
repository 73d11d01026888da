import { createInterface } from "node:readline";
import pc from "picocolors";

import { askIn } from "./ask.js";

/** @typedef {import("../session.js").Session} Session */

const kHelp = `/status  where things are, and what has changed
/diff    the changes as a diff
/review  look at them in a browser, choose, commit and undo there
/commit  write the changes into the project; /commit PATH ...: only these
/undo    take the last commit back
/exit    leave; what is not committed is thrown away
Anything else goes to the model. Ctrl-C interrupts it.
`;

/** @param {number} count */
const countOf = (count) => (count === 1 ? "1 change" : `${count} changes`);

/** A conversation at the terminal, or line by line from a pipe. */
export class Repl {
  #session;
  #reportError;
  #isExitConfirmed = false;

  /**
   * @param {Session} session
   * @param {(error: unknown) => void} reportError what one turn failed with; the next may go well
   */
  constructor(session, reportError) {
    this.#session = session;
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
    else if (line === "/diff") await this.#session.showDiff();
    else if (/^\/commit(\s|$)/.test(line)) await this.#commit(line.split(/\s+/).slice(1));
    else if (line === "/review") await this.#session.review();
    else if (line === "/undo") await this.#session.undo();
    else if (line.startsWith("/")) process.stdout.write(kHelp);
    else {
      await this.#session.ask(line, signal);
      await this.#session.showChanges();
    }
    return true;
  }

  /** @param {string[]} words behind /commit */
  async #commit(words) {
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
