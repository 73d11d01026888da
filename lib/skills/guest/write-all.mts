import { writeSync } from "node:fs";

/** A pipe that something has made non-blocking is full: its reader has to catch up. */
function write(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

/** Writes a text to standard output, whatever kind of file that is. */
export function writeAll(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += write(bytes.subarray(at));
}
