// One call of spawn or of a session's start, in the ledger as makeCall has it, and besides: every write
// is answered once, the streams end after the process, and what is done to it after its end does nothing.
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { kGoneMs } from "../limits.mjs";
import { endOf } from "./call.mjs";

const kAnyBytes = Number.MAX_SAFE_INTEGER;

/** Resolves with whether it came about in time. */
async function comes(promise) {
  const giveUp = new AbortController();
  const late = delay(kGoneMs, false, { signal: giveUp.signal }).catch(() => false);
  const came = await Promise.race([promise.then(() => true), late]);
  giveUp.abort();
  return came;
}

/** One live process, spoken with and watched. */
class Talk {
  process;
  faults = [];
  stdout = Buffer.alloc(0);
  #writes = [];
  #waiting = [];
  #chunks = [];
  #isOver = false;
  #gone;

  constructor(process) {
    this.process = process;
    const { stdout } = process;
    this.#gone = new Promise((resolve) => {
      for (const event of ["end", "close"]) stdout.once(event, resolve);
    }).then(() => {
      this.#isOver = true;
      this.#tell();
    });
    for (const stream of [stdout, process.stderr]) {
      stream?.on("error", (error) => this.faults.push(`an output failed: ${error.message}`));
    }
    process.result.then(
      () => this.#wake(),
      () => this.#wake(),
    );
  }

  read() {
    this.process.stdout.on("data", (chunk) => {
      if (this.#isOver) this.faults.push("output after the end of the stream");
      this.#chunks.push(chunk);
      this.#tell();
    });
    this.process.stderr?.resume();
  }

  #wake() {
    for (const { resolve } of this.#waiting) resolve();
    this.#waiting = [];
  }

  #tell() {
    if (this.#waiting.length === 0) return;
    const text = Buffer.concat(this.#chunks).toString();
    for (const { wanted, resolve } of this.#waiting) {
      if (this.#isOver || text.includes(wanted)) resolve();
    }
  }

  /** Until its output has this, or there is no more. */
  until = (wanted) =>
    new Promise((resolve) => {
      this.#waiting.push({ wanted, resolve });
      this.#tell();
      this.process.result.then(resolve, resolve);
    });

  write = (text) => {
    const write = { answers: 0 };
    this.#writes.push(write);
    write.answered = new Promise((resolve) => {
      this.process.stdin.write(text, (error) => {
        write.answers += 1;
        resolve(error);
      });
    });
    return write.answered;
  };

  /** After its end: what must hold of its streams and of calls that come too late. */
  async finish(isRead, result, hasTerminal) {
    const { process } = this;
    if (isRead && !(await comes(this.#gone))) this.faults.push("its output never ended");
    this.stdout = Buffer.concat(this.#chunks);
    if (!(await comes(Promise.all(this.#writes.map(({ answered }) => answered))))) {
      this.faults.push("a write was never answered");
    }
    await turn();
    if (this.#writes.some(({ answers }) => answers > 1))
      this.faults.push("a write was answered twice");
    if (!process.stdin.destroyed) this.faults.push("its input is still open");
    process.signal("SIGTERM");
    if (hasTerminal) process.resize({ cols: 80, rows: 24 });
    if ((await process.stop()) !== result) this.faults.push("stop() has another result");
  }
}

async function settle(process, plan) {
  const talk = new Talk(process);
  if (plan.reads === "at once") talk.read();
  const driven = plan.drive(talk).catch((error) => talk.faults.push(error.message));
  const result = await process.result;
  if (plan.reads === "late") talk.read();
  const isRead = plan.reads !== "never";
  await talk.finish(isRead, result, plan.input.pty !== undefined);
  if (!(await comes(driven))) talk.faults.push("what was waited for never came");
  if (result.stdout.length > 0) talk.faults.push("its result has output");
  const { stdout, faults } = talk;
  // On a terminal, what its set-up has to say is shown as well.
  const shown = plan.input.pty === undefined ? 0 : result.stderrBytes;
  const stdoutBytes = result.stdoutBytes + shown;
  const kept = isRead ? stdout.length : stdoutBytes;
  return {
    ...endOf(plan, { ...result, stdout, stdoutBytes, truncatedStdout: false }),
    kept,
    faults,
  };
}

/** `method`: "spawn" or "start". Resolves with how it ended, as the ledger has it. */
export async function makeLiveCall({ ledger }, id, slot, method, plan) {
  const { input, timeoutMs, abortAfterMs, drive, ...reported } = plan;
  const { output, endsBy, ...shown } = reported;
  const controller = new AbortController();
  ledger.write({
    event: "begin",
    call: id,
    runner: slot.id,
    runnerKind: `${slot.kind} ${method}`,
    workspace: slot.workspace.path,
    closedBefore: slot.isClosed,
    openedAt: slot.openedAt,
    limit: kAnyBytes,
    timeoutMs,
    abortAfterMs: abortAfterMs ?? (endsBy === "stop" ? 0 : undefined),
    throws: false,
    hasTerminal: input.pty !== undefined,
    ...shown,
  });
  const spawning = slot.runner[method]({
    ...input,
    limits: { timeoutMs },
    signal: controller.signal,
  });
  const timer =
    abortAfterMs === undefined ? undefined : setTimeout(() => controller.abort(), abortAfterMs);
  const end = await spawning
    .then((process) => settle(process, plan))
    .catch((error) => ({ rejected: error.code ?? error.message, message: error.message }));
  if (end.rejected === "ERR_SANDBOX_CLOSED") await slot.ended;
  clearTimeout(timer);
  ledger.write({ event: "end", call: id, ...end });
  return end;
}
