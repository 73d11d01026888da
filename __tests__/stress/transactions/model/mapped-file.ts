/** A program of the host's that has a file mapped, and writes to it when it is told: times may not show that. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { plainEnvironment } from "../../../integration/support/requirements.js";
import { tempDirectory } from "../../../integration/support/temp.js";
import { eventually } from "../../../support/waits.js";

const kTexts = Array.from({ length: 9 }, (_, at) => `map${at + 1}`);

export class MappedFile {
  readonly #signals = tempDirectory("signals");
  readonly #process;
  #written = 0;

  /** @param probe the program of ../../integration/probe. */
  constructor(probe: string, file: string) {
    this.#process = spawn(probe, ["write-mapped", file, this.#signals, ...kTexts], {
      env: plainEnvironment(),
      stdio: "ignore",
    });
  }

  /** Resolves once the page has been written to, which no later write makes known. */
  begun(): Promise<unknown> {
    return this.#done();
  }

  /** Writes another text to the file, unless all were written. */
  async write(): Promise<void> {
    if (this.#written === kTexts.length) return;
    this.#written += 1;
    writeFileSync(join(this.#signals, `go-${this.#written}`), "");
    await this.#done();
  }

  async end(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  #done() {
    const file = join(this.#signals, `done-${this.#written}`);
    return eventually("the mapping was written to", () => existsSync(file));
  }
}
