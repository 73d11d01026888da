/** Passes the streams of a live process through this process's own, as a shell's pipe would. */

import { closeSync, constants, fstatSync, openSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { WriteStream } from "node:tty";

import type { SandboxProcess, TerminalSize } from "../../types/public.js";
import { printError } from "./terminal.js";

/** The bytes of one output: those that were passed, and those that the command wrote. */
export type Passed = { kept: number; written: number };

/**
 * Passes an output on until it ends. A slow reader holds the command up; a reader that is gone closes the
 * output, so that the command's next write fails or ends it by SIGPIPE.
 *
 * @param sink where `write` writes to; "drain" goes on.
 * @param write returns false where the sink is full.
 * @param most bytes to pass; the rest is read and dropped, and the command goes on.
 */
export function passOutput(
  source: Readable,
  sink: Writable,
  write: (chunk: Uint8Array) => boolean,
  most = Number.POSITIVE_INFINITY,
): Promise<Passed> {
  const passed: Passed = { kept: 0, written: 0 };
  const lose = () => source.destroy();
  sink.once("error", lose);
  source.on("data", (chunk: Uint8Array) => {
    passed.written += chunk.length;
    const part = chunk.subarray(0, Math.max(0, most - passed.kept));
    if (part.length === 0) return;
    passed.kept += part.length;
    if (write(part)) return;
    source.pause();
    sink.once("drain", () => source.resume());
  });
  return new Promise((resolve) => {
    source.on("error", () => {}); // "close" follows
    source.once("close", () => {
      sink.removeListener("error", lose);
      resolve(passed);
    });
  });
}

/** Milliseconds that a reader has, once the run has been interrupted and has ended, to take what it wrote. */
const kLastReadMs = 2_000;

/**
 * Closes the outputs of a run that was interrupted, once it has ended and its readers have had some time: one that reads no
 * further would keep this process from ending. Without a signal they have all the time they take. Returns a function that
 * stops it.
 */
export function closeAfterInterrupt(live: SandboxProcess, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const close = () => {
    live.stdout.destroy();
    live.stderr?.destroy();
  };
  const wait = () => {
    timer = setTimeout(close, kLastReadMs).unref();
  };
  const onAbort = () => void live.result.then(wait, wait);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return () => {
    signal.removeEventListener("abort", onAbort);
    clearTimeout(timer);
  };
}

/** Ends this process after an interrupted run. What a reader does not take in that time is lost: it would keep the process. */
export async function endAfterInterrupt(): Promise<never> {
  const taken = [process.stdout, process.stderr].map(
    (sink) => new Promise((resolve) => sink.write("", resolve)),
  );
  const late = new Promise((resolve) => setTimeout(resolve, kLastReadMs));
  await Promise.race([Promise.all(taken), late]);
  process.exit();
}

/** This process's own pipes, for a command whose input and output never pass through JavaScript. */
export type OpenRelay = {
  readonly pipes: { readonly stdin?: number | undefined; readonly stdout?: number | undefined };
  /** Call when the run has ended. */
  close(): void;
};

/**
 * Opens standard input and output, as far as they are pipes and wanted. They are opened anew, so that other processes
 * which have the same pipe do not find it non-blocking.
 */
export function openRelay(wanted: { stdin: boolean; stdout: boolean }): OpenRelay {
  const open = (descriptor: number, flags: number) => {
    try {
      if (!fstatSync(descriptor).isFIFO()) return undefined;
      return openSync(`/proc/self/fd/${descriptor}`, flags | constants.O_NONBLOCK);
    } catch {
      return undefined; // it is another user's, is closed, or there is no /proc
    }
  };
  const pipes = {
    stdin: wanted.stdin ? open(0, constants.O_RDONLY) : undefined,
    stdout: wanted.stdout ? open(1, constants.O_WRONLY) : undefined,
  };
  return {
    pipes,
    close() {
      for (const pipe of Object.values(pipes)) if (pipe !== undefined) closeSync(pipe);
    },
  };
}

/** ^D, which is the end of a terminal's input. */
const kEndOfInput = "\u0004";

/**
 * Passes this process's standard input on as it comes, until either side ends. Returns a function that stops
 * it and gives a terminal back.
 */
export function passInput({ stdin: sink }: SandboxProcess, hasTerminal: boolean): () => void {
  const { stdin } = process;
  const isRaw = hasTerminal && stdin.isTTY;
  if (isRaw) stdin.setRawMode(true);
  const stop = () => {
    stdin.unpipe(sink);
    if (isRaw) stdin.setRawMode(false);
    // A terminal is needed for later questions; a pipe's writer is to learn that nobody reads.
    if (stdin.isTTY) stdin.pause();
    else stdin.destroy();
  };
  sink.once("close", stop);
  stdin.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EIO") printError(`can't read standard input: ${error.message}`);
    sink.end();
  });
  if (hasTerminal && !stdin.isTTY) stdin.once("end", () => sink.write(kEndOfInput));
  stdin.pipe(sink, { end: !hasTerminal });
  return stop;
}

/** This process's terminal, if it has one; its size is that of the command's. */
function ownTerminal(): WriteStream | undefined {
  return [process.stdout, process.stderr].find((stream) => stream.isTTY);
}

const kUsualSize: TerminalSize = { cols: 80, rows: 24 };

function sizeOf(terminal: WriteStream | undefined): TerminalSize {
  const { columns, rows } = terminal ?? { columns: 0, rows: 0 };
  return columns > 0 && rows > 0 ? { cols: columns, rows } : kUsualSize;
}

/** The command's terminal as this process's is. */
export function terminalLikeOurs(): TerminalSize & { term?: string } {
  const { TERM } = process.env;
  return { ...sizeOf(ownTerminal()), ...(TERM ? { term: TERM } : {}) };
}

/** Keeps the size of the command's terminal that of ours. Returns a function that stops it. */
export function followSize(live: SandboxProcess): () => void {
  const terminal = ownTerminal();
  const resize = () => live.resize(sizeOf(terminal));
  terminal?.on("resize", resize);
  resize(); // it may have changed since the command was started
  return () => void terminal?.removeListener("resize", resize);
}

/**
 * Stops and continues the command with this process: Ctrl-Z, and a shell's `fg`. Call before the command is started,
 * `begin` once it is, and `end` at last. With a terminal of its own the command gets Ctrl-Z itself.
 */
export function followJobControl(): { begin(live: SandboxProcess): void; end(): void } {
  let live: SandboxProcess | undefined;
  let isAsked = false;
  let isStopping = false;
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    const stopUs = () => {
      if (!isStopping) return; // continued meanwhile
      isStopping = false;
      process.kill(process.pid, "SIGSTOP");
    };
    live?.signal("SIGSTOP");
    // The answer comes once the thread that passes signals on, and stops with us, has passed this one on.
    live?.waitForPort(1, { timeoutMs: 1 }).then(stopUs, stopUs);
  };
  const onStop = () => {
    if (live === undefined) isAsked = true;
    else stop();
  };
  const onContinue = () => {
    isStopping = false;
    live?.signal("SIGCONT");
  };
  process.on("SIGTSTP", onStop).on("SIGCONT", onContinue);
  return {
    begin(begun) {
      live = begun;
      if (isAsked) stop();
    },
    end() {
      process.removeListener("SIGTSTP", onStop).removeListener("SIGCONT", onContinue);
    },
  };
}
