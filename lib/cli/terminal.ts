/** The process's three standard streams, for use by the commands. */

import { fstatSync } from "node:fs";

import { visibleText } from "../text.js";

/** Maximum number of bytes read from standard input. */
export const kMaxStdinBytes = 64 * 1024 * 1024;

/** An error for people, with its fix. Ends the command line with `exitCode`. */
export class CliError extends Error {
  readonly exitCode: number;
  readonly fix: string | undefined;

  constructor(message: string, exitCode: number, fix?: string) {
    super(message);
    this.exitCode = exitCode;
    this.fix = fix;
  }
}

let outputIsWatched = false;

/**
 * Calls `lost` when standard output can no longer be written. A reader that exits (`| head`) is not an error
 * and is not reported; a full disk is both. Errors of standard error are ignored.
 */
export function watchOutput(lost: () => void = () => {}): void {
  process.stdout.on("error", lost);
  if (outputIsWatched) return;
  outputIsWatched = true;
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || process.exitCode === kCannotWrite) return;
    process.exitCode = kCannotWrite;
    printError(`can't write standard output: ${error.message}`);
  });
}

const kCannotWrite = 74; // EX_IOERR, sysexits(3)

/** True if text for a stream should have colors; NO_COLOR as defined by no-color.org. */
export function wantsColors(stream: { isTTY?: boolean }): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";
}

/** Prints "native-runner: message" on standard error, then "fix: ..."; either may be missing. */
export function printError(message: string | undefined, fix?: string | undefined): void {
  if (message) process.stderr.write(`native-runner: ${message}\n`);
  if (fix) process.stderr.write(`fix: ${fix}\n`);
}

/**
 * Writes a command's output to standard error. At a terminal, what a terminal would act on is made visible:
 * where the output is beside the point, it may not change what the person sees.
 */
export function commandOutput(): (chunk: Uint8Array) => void {
  if (!process.stderr.isTTY) return (chunk) => void process.stderr.write(chunk);
  const decoder = new TextDecoder();
  return (chunk) => {
    process.stderr.write(
      visibleText(decoder.decode(chunk, { stream: true }).replaceAll("\r\n", "\n")),
    );
  };
}

function hasInput(): boolean {
  if (process.stdin.isTTY) return false;
  const stat = fstatSync(0);
  return !stat.isCharacterDevice(); // /dev/null
}

/**
 * Returns all of standard input if it is a pipe, a file or a socket; undefined for a terminal, and if
 * `signal` is aborted while it is read.
 */
export async function readStdin(signal: AbortSignal): Promise<Uint8Array | undefined> {
  if (signal.aborted || !hasInput()) return undefined;
  const stop = () => process.stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > kMaxStdinBytes) break;
      chunks.push(chunk);
    }
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  if (size > kMaxStdinBytes) {
    const fix = "put the data in a file in the workspace, or pass --no-stdin";
    throw new CliError("standard input is longer than 64 MiB", 2, fix);
  }
  return Buffer.concat(chunks);
}
