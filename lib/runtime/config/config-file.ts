import stripJsonComments from "strip-json-comments";

import { invalidValue } from "../../errors.js";
import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import type { RuntimeConfig } from "./config.js";
import { parseRuntimeConfig } from "./parse-config.js";

/**
 * The value of JSON that may have comments (`//` to the end of the line, and between a slash with a star
 * and a star with a slash); nothing else is more than JSON allows.
 * @throws SyntaxError, with the place in `text`.
 */
export function parseCommentedJson(text: string): unknown {
  return JSON.parse(stripJsonComments(text)); // which leaves spaces, so that places are right
}

/**
 * Reads the configuration from a JSON file, in which comments may be, and fills in the defaults. The file is
 * a regular one, or a link to one, of at most 1 MiB.
 *
 * @throws (rejects) TypeError with code ERR_INVALID_ARG_VALUE that names the file and what is wrong
 * with it, and what the file system says in `cause`.
 */
export async function loadRuntimeConfig(path: string): Promise<RuntimeConfig> {
  try {
    const text = await readRegularFile(path, kMaxConfigBytes);
    return parseRuntimeConfig(parseCommentedJson(text.toString("utf8")));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalidValue(`${path}: ${reason}`, cause);
  }
}
