/** Formats the output and exit of a command as text for a model. Pure. */

import type { SandboxedExecResult } from "../../types/public.js";

const kNewline = 0x0a;

/** True if a byte continues a UTF-8 character. */
const continues = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Returns the length in bytes of the character that starts with `byte`. */
function lengthOf(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}

/** Returns the end of the last complete character. */
function wholeEnd(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && continues(bytes[start])) start -= 1;
  const lead = bytes[start];
  return lead !== undefined && start + lengthOf(lead) > bytes.length ? start : bytes.length;
}

/** Cuts to whole lines, or, if that would lose more than half, to whole characters. */
function headOf(bytes: Uint8Array): Uint8Array {
  const line = bytes.lastIndexOf(kNewline) + 1;
  return bytes.subarray(0, line * 2 > bytes.length ? line : wholeEnd(bytes));
}

function tailOf(bytes: Uint8Array): Uint8Array {
  const line = bytes.indexOf(kNewline) + 1;
  if (line > 0 && line * 2 < bytes.length) return bytes.subarray(line);
  let start = 0;
  while (start < 3 && continues(bytes[start])) start += 1;
  return bytes.subarray(start);
}

/** Returns `text` with a line end, unless it is empty. */
const closed = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/**
 * Returns the kept bytes of one stream as text; if they are the first and the last half, a line between them
 * tells how much was omitted.
 */
export function streamText(bytes: Uint8Array, total: number, truncated: boolean): string {
  const decoder = new TextDecoder();
  if (!truncated) return decoder.decode(bytes);
  const middle = bytes.length - Math.floor(bytes.length / 2); // the split that the addon uses for "head+tail"
  const head = headOf(bytes.subarray(0, middle));
  const tail = tailOf(bytes.subarray(middle));
  const left = total - head.length - tail.length;
  const note = `[... ${left} of ${total} bytes left out ...]\n`;
  return closed(decoder.decode(head)) + note + decoder.decode(tail);
}

function endText({ outcome, exitCode }: SandboxedExecResult, timeoutMs: number): string {
  const code = `Exit code: ${exitCode}`;
  switch (outcome.kind) {
    case "exited":
      return exitCode === 0 ? "" : code;
    case "signaled":
      return `${code} (ended by ${outcome.signal})`;
    case "timed-out":
      return `${code} (timed out after ${timeoutMs / 1000} s)`;
    case "limit-exceeded":
      return `${code} (limit exceeded: ${outcome.limit})`;
    default:
      return `${code} (${outcome.kind})`;
  }
}

/** Returns standard output, then standard error, then the exit code if it is not 0. */
export function outputText(result: SandboxedExecResult, timeoutMs: number): string {
  const out = streamText(result.stdout, result.stdoutBytes, result.truncatedStdout);
  const err = streamText(result.stderr, result.stderrBytes, result.truncatedStderr);
  const parts = [out, err, endText(result, timeoutMs)].filter((part) => part !== "");
  return parts.map((part, index) => (index + 1 < parts.length ? closed(part) : part)).join("");
}
