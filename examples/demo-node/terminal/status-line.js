import { clearLine, cursorTo } from "node:readline";
import pc from "picocolors";

const kFrames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const kFrameMs = 100;

/** One line at the bottom of a terminal that shows for how long something runs; nothing elsewhere. */
export class StatusLine {
  #stream;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #since = 0;
  #frame = 0;

  /** @param {NodeJS.WritableStream & { isTTY?: boolean }} stream */
  constructor(stream) {
    this.#stream = stream;
  }

  start() {
    if (!this.#stream.isTTY || this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setInterval(() => this.#draw(), kFrameMs);
    this.#timer.unref();
  }

  stop() {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  /** Makes room for lines of others; it comes back by itself. */
  clear() {
    if (!this.#stream.isTTY) return;
    clearLine(this.#stream, 0);
    cursorTo(this.#stream, 0);
  }

  #draw() {
    this.clear();
    this.#frame = (this.#frame + 1) % kFrames.length;
    const seconds = ((performance.now() - this.#since) / 1000).toFixed(1);
    this.#stream.write(pc.dim(`  ${kFrames[this.#frame]} ${seconds} s`));
  }
}
