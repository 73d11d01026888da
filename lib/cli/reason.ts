/** Explains on one line why a run did not end by itself, and how to fix it. */

import type { Outcome, SandboxedExecResult } from "../../types/public.js";
import { kRunLimitOptions } from "../denials/advice-lists.js";
import { formatSize, shellQuote } from "../text.js";
import type { CliOptions } from "./options.js";
import { formatDuration } from "./values.js";

/** The explanation for standard error. `said`: the run's own stderr already contains it. */
export type Reason = { message: string; fix?: string; said?: boolean };

/** Signals that end programs which get no memory: raised by the program itself, or by the kernel. */
const kShortOfMemory: readonly string[] = ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGKILL"];

/** Returns a reason only if a limit of the caller may have caused the signal. */
function signalReason(signal: string, { memory }: CliOptions): Reason | undefined {
  if (memory === undefined || !kShortOfMemory.includes(signal)) return undefined;
  return {
    message: `ended by ${signal}, under --memory ${formatSize(memory)}`,
    fix: "a program that gets no more memory often ends so: try a larger --memory",
  };
}

/** Returns the fix for a failed setup. For an invalid path, less isolation is not suggested. */
function setupFix({ reason, fix }: Extract<Outcome, { kind: "setup-failed" }>): string {
  if (fix !== undefined) return inCliWords(fix);
  if (reason.startsWith("cannot enter ")) {
    const isMissing = /No such file|ENOENT/.test(reason);
    const create = isMissing ? "create it, or leave it out" : "name another, or leave it out";
    return `--cwd names a directory of the workspace: ${create}`;
  }
  return "`native-runner doctor` tells what works here, and what would help";
}

/** Returns the fix for a program that was not found: one word with spaces is a shell's line. */
function notFoundFix(command: readonly string[], { root, image }: CliOptions): string {
  const [program = ""] = command;
  if (command.length === 1 && /\s/.test(program.trim())) {
    return `a line for a shell is \`native-runner run -- bash -c ${shellQuote(program)}\``;
  }
  if (root !== undefined || image !== undefined) {
    return "the root file system has none on PATH: choose another one, or put it in the workspace";
  }
  return "mount its folder with --ro-bind, or put it in the workspace";
}

/**
 * Returns how the run ended, unless the command ended by itself or by its own signal.
 * @param command the words of the command line.
 */
export function endReason(
  result: SandboxedExecResult,
  options: CliOptions,
  command: readonly string[] = [],
): Reason | undefined {
  const { outcome } = result;
  switch (outcome.kind) {
    case "exited":
      return undefined;
    case "signaled":
      return signalReason(outcome.signal, options);
    case "timed-out":
      return { message: `timed out after ${formatDuration(options.timeout)} (--timeout)` };
    case "aborted":
      return { message: "interrupted" };
    case "lease-expired":
      return { message: "its lease expired" };
    case "lost":
      return { message: `how it ended is not known: ${outcome.reason}` };
    case "queue-timeout":
      return { message: `it was not started: ${outcome.reason}` };
    case "not-found":
      return {
        message: "the command was not found in the sandbox",
        fix: notFoundFix(command, options),
        said: true,
      };
    case "not-executable":
      return {
        message: "the command can't be executed",
        fix: "check its mode, its first line (#!) and the processor it was built for",
        said: true,
      };
    case "setup-failed":
      return { message: inCliWords(outcome.reason), fix: setupFix(outcome) };
    case "limit-exceeded": {
      const option = kLimitOptions[outcome.limit];
      return { message: `ended by its limit ${option ?? outcome.limit}` };
    }
  }
}

/** The bytes of an output that were kept or passed on, and all that were written. */
type Sizes = { kept: number; written: number };

/** Returns one line for each truncated stream. */
export function truncations(sizes: { stdout: Sizes; stderr: Sizes | null }): Reason[] {
  return Object.entries(sizes).flatMap(([name, size]) => {
    if (size === null || size.kept === size.written) return [];
    const of = `${formatSize(size.kept)} of ${formatSize(size.written)} kept`;
    return [{ message: `${name} truncated: ${of} (--max-output)` }];
  });
}

/** Returns the sizes of a result. */
export function sizesOf(result: SandboxedExecResult): Record<"stdout" | "stderr", Sizes> {
  return {
    stdout: { kept: result.stdout.length, written: result.stdoutBytes },
    stderr: { kept: result.stderr.length, written: result.stderrBytes },
  };
}

/** Translates messages of the library to terms of the command line. */

/** The options that set a limit, by the limit's name. */
const kLimitOptions: Readonly<Record<string, string>> = {
  timeoutMs: "--timeout",
  ...kRunLimitOptions,
  cpuShare: "--cpu-share",
  ioShare: "--io-share",
  reserveBytes: "--reserve",
  maxStdoutBytes: "--max-output",
  maxStderrBytes: "--max-output",
  maxFuel: "--fuel",
  maxMemoryBytes: "--memory",
  maxDurationMs: "--timeout",
  maxOutputBytes: "--max-output",
};

/** Whole phrases only: a configuration file shares some of the names, and they are correct there. */
const kPhrases: readonly (readonly [RegExp, string])[] = [
  [/\b(?:Local)?NativeRunner(?:\.exec)?: cwd must/g, "--cwd must"],
  [/\bNativeRunner\.exec: argv\[0\] is required/g, "the command is empty"],
  [/\bshadowDir must be a directory when a run starts, got/g, "--workspace is no directory:"],
  [/create the directory before calling exec/g, "create it, or name another with --workspace"],
  [/\broBinds names/g, "the read-only mounts name"],
  [/\bmounts\[\d+\]\.hostPath(?= names| \()/g, "a mount"],
  [/\bmounts\[\d+\]\.guestPath(?= ")/g, "a mount at"],
  [/^Expected `mounts\[\d+\]\.hostPath`/g, "Expected the host path of --mount"],
  [/^Expected `mounts\[\d+\]\.guestPath` to be another than .*, got/g, "Expected one --mount for"],
  [
    /^Expected `mounts\[\d+\]\.guestPath` to be a path that does not hide `mounts.*, got/g,
    "Expected --mount to hide no earlier one, got",
  ],
  [/^Expected `mounts\[\d+\]\.guestPath`/g, "Expected the guest path of --mount"],
  [/^Expected `mounts` to be/g, "Expected --mount to name"],
  [/\bname it in devices instead/g, "name it with --device instead"],
  [/\bdevices\[\d+\] names/g, "--device names"],
  [/^Expected `devices\[\d+\]`/g, "Expected --device"],
  [/^Expected `devices`/g, "Expected --device"],
  [/remove it from (?:mounts|devices)\b/g, "leave it out"],
  [/\bmount it with mode "ro"/g, "mount it read-only"],
  [/^Expected `network\.allow\[\d+\]`/g, "Expected --allow-host"],
  [/^Expected `network\.hostPorts(\[\d+\])?`/g, "Expected --host-port"],
  [/\bfsReadDirs names/g, "the readable directories name"],
  [/\bfsWriteDirs names/g, "the writable directories name"],
  [/remove it from (?:roBinds|fsReadDirs|fsWriteDirs)\b/g, "leave it out"],
  [/\bits absolute path in bwrapPath\b/g, "its absolute path with --bwrap"],
  [/\bits absolute path in firejailPath\b/g, "its absolute path in the configuration"],
  [/^Expected `bwrapPath`/g, "Expected --bwrap"],
  [/^Expected `cwd`/g, "Expected --cwd"],
  [/^Expected `directory`/g, "Expected --state-directory"],
  [/^Expected `env\.([^`]*)`/g, "Expected --env $1"],
  [/^Expected `env`/g, "Expected the name of --env"],
  [/^Expected `envPolicy(?:\[\d+\])?`/g, "Expected --env-policy"],
  [/^`wasmPath` can't be used: /g, "the skill can't be used: "],
  [/\bleave out strictLimits\b/g, "leave out --strict-limits"],
  [/^`runtimeType` is native/g, "the runtime is native"],
  [/\bisolation `compat`/g, "--isolation compat"],
];

const kLimit = /`?\b(?:limits|resourceLimits)\.(\w+)\b`?/g;

/** Returns the message without names that only exist in code. */
export function inCliWords(message: string): string {
  let text = message;
  for (const [phrase, words] of kPhrases) text = text.replace(phrase, words);
  return text.replace(kLimit, (whole, name: string) => kLimitOptions[name] ?? whole);
}

/**
 * Holds back the line in which a runner reports on standard error why a run could not be set up, so that it
 * can be reworded for the command line; everything else passes through immediately.
 */
export class SetupLine {
  readonly #write: (chunk: Uint8Array) => unknown;
  #held: Uint8Array | undefined;

  /** @param write writes to standard error. */
  constructor(write: (chunk: Uint8Array) => unknown) {
    this.#write = write;
  }

  /** Adds a chunk of standard error. Returns false if the write has: the stream is full. */
  add(chunk: Uint8Array): boolean {
    const isReady = this.#flush();
    if (!Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).includes("native-runner: ")) {
      return this.#write(chunk) !== false && isReady;
    }
    this.#held = chunk;
    return isReady;
  }

  /** Ends the run. @param reason why it could not be set up; undefined if it was set up. */
  end(reason: string | undefined): void {
    const line = Buffer.from(`native-runner: ${reason}\n`);
    if (reason !== undefined && this.#held !== undefined) {
      const held = Buffer.from(this.#held);
      const at = held.length - line.length;
      if (at >= 0 && held.subarray(at).equals(line)) this.#held = held.subarray(0, at);
    }
    this.#flush();
  }

  #flush(): boolean {
    const held = this.#held;
    this.#held = undefined;
    return held === undefined || held.length === 0 || this.#write(held) !== false;
  }
}
