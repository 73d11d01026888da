// A variant in a Node process of its own, driven one burst at a time from the suite's process.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const kMain = fileURLToPath(new URL("./main.mjs", import.meta.url));

export class Host {
  #child;

  constructor(child) {
    this.#child = child;
  }

  /** Starts a host for a variant's module; resolves when it is ready for bursts. */
  static async open(module, setup, holdBytes = 0) {
    const host = new Host(fork(kMain, [JSON.stringify({ module, setup, holdBytes })]));
    await host.#answer();
    return host;
  }

  /** One burst's measurements; see burst.mjs for the request. */
  burst(request) {
    return this.#ask(request);
  }

  /** One run; resolves to { exitCode, stdout, stderr }, both as text. */
  tell(argv) {
    return this.#ask({ tell: argv });
  }

  async close() {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }

  async #ask(request) {
    this.#child.send(request);
    const { answer, error } = await this.#answer();
    if (error !== undefined) throw new Error(error);
    return answer;
  }

  async #answer() {
    const ending = new AbortController();
    const { signal } = ending;
    const exit = once(this.#child, "exit", { signal }).then(([code]) => {
      throw new Error(`a benchmark host ended with ${code}`);
    });
    try {
      const [message] = await Promise.race([once(this.#child, "message", { signal }), exit]);
      return message;
    } finally {
      exit.catch(() => {});
      ending.abort();
    }
  }
}
