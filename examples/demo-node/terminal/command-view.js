import pc from "picocolors";

import { plainLine, plainText } from "./plain-text.js";
import { StatusLine } from "./status-line.js";

/** Lines of a command's output that people are shown while it runs; the model gets more. */
const kMaxLines = 20;

/** Characters of a line that has no end yet. */
const kMaxPending = 2000;

/** A stream's bytes as whole lines. */
class Lines {
  #decoder = new TextDecoder();
  #pending = "";

  /**
   * @param {Uint8Array} [chunk] none at the end
   * @returns {string[]}
   */
  take(chunk) {
    this.#pending += this.#decoder.decode(chunk, { stream: chunk !== undefined });
    const lines = this.#pending.split("\n");
    const rest = lines.pop() ?? "";
    const isOver = chunk === undefined || rest.length > kMaxPending;
    this.#pending = isOver ? "" : rest;
    return isOver && rest !== "" ? [...lines, rest] : lines;
  }
}

/** Shows a command while it runs: what it is, what it writes, for how long it runs, how it ended. */
export class CommandView {
  #stream;
  #status;
  #shown = 0;
  #streams = { stdout: new Lines(), stderr: new Lines() };

  /** @param {NodeJS.WritableStream & { isTTY?: boolean }} stream */
  constructor(stream) {
    this.#stream = stream;
    this.#status = new StatusLine(stream);
  }

  /** @param {string} command */
  commandStarted(command) {
    this.#shown = 0;
    this.#streams = { stdout: new Lines(), stderr: new Lines() };
    const [first = "", ...more] = command.trim().split("\n");
    const rest = more.length > 0 ? pc.dim(` (+${more.length} lines)`) : "";
    this.#stream.write(`${pc.cyan("$")} ${plainLine(first)}${rest}\n`);
    this.#status.start();
  }

  /**
   * @param {"stdout" | "stderr"} name
   * @param {Uint8Array} chunk
   */
  commandWrote(name, chunk) {
    this.#show(this.#streams[name].take(chunk));
  }

  /**
   * @param {string} how
   * @param {number} [durationMs]
   */
  commandEnded(how, durationMs) {
    this.#status.stop();
    for (const lines of Object.values(this.#streams)) this.#show(lines.take());
    if (this.#shown > kMaxLines) this.#stream.write(pc.dim("  | ... and more\n"));
    const duration = durationMs === undefined ? "" : `, ${(durationMs / 1000).toFixed(1)} s`;
    this.#stream.write(pc.dim(`  = ${plainLine(how)}${duration}\n`));
  }

  /** @param {string[]} lines */
  #show(lines) {
    for (const line of lines) {
      this.#shown += 1;
      if (this.#shown > kMaxLines) continue;
      this.#status.clear();
      this.#stream.write(`${pc.dim("  |")} ${plainText(line)}\n`);
    }
  }
}
