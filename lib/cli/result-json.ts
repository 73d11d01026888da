import type { SandboxedExecResult } from "../../types/public.js";

const kDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string | undefined {
  try {
    return kDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A stream as text; when it is no UTF-8, with U+FFFD in it and exact in base64 beside it. */
function streamFields(name: "stdout" | "stderr", bytes: Uint8Array): Record<string, string> {
  const text = decode(bytes);
  if (text !== undefined) return { [name]: text };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { [name]: buffer.toString("utf8"), [`${name}Base64`]: buffer.toString("base64") };
}

/**
 * The whole result as JSON: its fields, the streams as text where they are UTF-8, and what has become of
 * its transaction, if it was in one.
 */
export function resultJson(result: SandboxedExecResult, transaction?: object): string {
  const { exitCode, outcome, stdout, stderr, ...rest } = result;
  const streams = { ...streamFields("stdout", stdout), ...streamFields("stderr", stderr) };
  return JSON.stringify({ exitCode, outcome, ...streams, ...rest, transaction }, null, 2);
}
