import stripJsonComments from "strip-json-comments";

import { invalidValue } from "../../errors.js";
import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import type { RuntimeConfig } from "./config.js";
import { parseRuntimeConfig } from "./parse-config.js";

function naming(path: string, cause: unknown): TypeError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return invalidValue(`${path}: ${reason}`, cause);
}

/**
 * The configuration in a file's text: JSON, and comments as JavaScript has them. Nothing else is more than
 * JSON allows.
 *
 * @throws TypeError with code ERR_INVALID_ARG_VALUE that names `path` and what is wrong.
 */
export function parseConfigText(text: string, path: string): RuntimeConfig {
  try {
    // It leaves spaces for comments, so that the parser's places are right.
    return parseRuntimeConfig(JSON.parse(stripJsonComments(text)));
  } catch (cause) {
    throw naming(path, cause);
  }
}

/**
 * Reads the configuration from a JSON file, in which comments may be, and fills in the defaults. The file is
 * a regular one, or a link to one, of at most 1 MiB.
 *
 * @throws (rejects) TypeError with code ERR_INVALID_ARG_VALUE that names the file and what is wrong
 * with it, and what the file system says in `cause`.
 */
export async function loadRuntimeConfig(path: string): Promise<RuntimeConfig> {
  const bytes = await readRegularFile(path, kMaxConfigBytes).catch((cause) => {
    throw naming(path, cause);
  });
  return parseConfigText(bytes.toString("utf8"), path);
}
