// A host, seen from the supervisor: a child process that runs host.mjs.
import { fork } from "node:child_process";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { now } from "../judge/ledger.mjs";
import { kAnswerMs, kPlantedAnswerMs } from "../limits.mjs";

const kLookMs = 500;
const kProgram = fileURLToPath(new URL("./host.mjs", import.meta.url));

export class HostProcess {
  /** "running" until it is told to "pause" or "finish", to "leave", or is "killed". */
  fate = "running";
  kinds = [];
  /** It has found out which runners it can have, and uses them. */
  isReady = false;
  #child;
  #ended;
  #said = "";
  #ready;
  #answerMs;

  /** `settings`: { name, seed, gigabytes, mark, directory, temp, hasFaults, hasStandstill }. */
  constructor(settings) {
    const { name, temp, directory } = settings;
    this.name = name;
    this.#answerMs = settings.hasStandstill ? kPlantedAnswerMs : kAnswerMs;
    this.ledgerFile = join(directory, "..", `${name}.jsonl`);
    writeFileSync(this.ledgerFile, ""); // it may be killed before it has one
    const reported = JSON.stringify({ ...settings, ledgerFile: this.ledgerFile });
    this.#child = fork(kProgram, [reported], {
      execArgv: ["--expose-gc"],
      env: { ...process.env, TMPDIR: temp },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on("data", (chunk) => {
        this.#said += String(chunk);
      });
    }
    this.#ended = once(this.#child, "close").then(([code, signal]) => ({ code, signal }));
    this.#ready = this.#begin();
  }

  get pid() {
    return this.#child.pid;
  }

  /** What it printed: nothing, where all is well. */
  get said() {
    return this.#said;
  }

  get isAlive() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Returns when nothing has come into its ledger for so long, or nobody waits any more. */
  async #standstill(boundMs, signal) {
    let size = -1;
    let since = now();
    while (now() - since < boundMs) {
      const before = size;
      ({ size } = statSync(this.ledgerFile));
      if (size !== before) since = now();
      await delay(kLookMs, undefined, { signal });
    }
  }

  /** The next message, or undefined when it ends, or neither answers nor gets any further in time. */
  async #answer(kind, boundMs = kAnswerMs) {
    const giveUp = new AbortController();
    const { signal } = giveUp;
    const message = once(this.#child, "message", { signal }).then(([each]) => each);
    const ended = this.#ended.then(() => undefined);
    const late = this.#standstill(boundMs, signal);
    const answer = await Promise.race([message, ended, late]).finally(() => {
      for (const each of [message, late]) each.catch(() => {}); // given up
      giveUp.abort();
    });
    return answer?.answer === kind ? answer : undefined;
  }

  async #begin() {
    const answer = await this.#answer("ready");
    this.kinds = answer?.kinds ?? [];
    this.isReady = answer !== undefined;
    return this.isReady;
  }

  /** Whether it has begun; then `kinds` says with which runners. */
  async ready() {
    return this.#ready;
  }

  #tell(order) {
    if (this.#child.connected) this.#child.send(order, () => {}); // it may be gone by then
  }

  /** What it holds once all its calls are over; undefined when that does not come to pass. */
  async pause() {
    const answer = this.#answer("paused", this.#answerMs);
    this.#tell("pause");
    return answer;
  }

  resume() {
    this.#tell("resume");
  }

  /** SIGKILL, at whatever it is at. */
  async kill() {
    this.fate = "killed";
    this.#child.kill("SIGKILL");
    return this.#ended;
  }

  /** process.exit() in mid-run. */
  async leave() {
    this.fate = "left";
    this.#tell("leave");
    return this.#end();
  }

  /** After a pause: nothing may keep it. */
  async finish() {
    this.fate = "finished";
    this.#tell("finish");
    return this.#end();
  }

  /** { code, signal }, or undefined when it had to be killed. */
  async #end() {
    const giveUp = new AbortController();
    const late = delay(kAnswerMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
    const end = await Promise.race([this.#ended, late]);
    giveUp.abort();
    if (end === undefined) this.#child.kill("SIGKILL");
    return end;
  }
}
