import { stripVTControlCharacters } from "node:util";

/** Lines of one of several that write at once, each behind a label. */
export class LabelledStream {
  #stream;
  #label;
  #pending = "";

  /**
   * @param {NodeJS.WritableStream} stream
   * @param {string} label
   */
  constructor(stream, label) {
    this.#stream = stream;
    this.#label = label;
  }

  /** @param {string} text */
  write(text) {
    const lines = (this.#pending + text).split("\n");
    this.#pending = lines.pop() ?? "";
    if (lines.length > 0)
      this.#stream.write(lines.map((line) => `${this.#label} ${line}\n`).join(""));
    return true;
  }

  /** Writes a last line that has no end. */
  end() {
    const isShown = stripVTControlCharacters(this.#pending) !== "";
    if (isShown) this.write("\n");
    else this.#stream.write(this.#pending);
  }
}
