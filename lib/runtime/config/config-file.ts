import { invalidValue } from "../../errors.js";
import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import type { RuntimeConfig } from "./config.js";
import { parseRuntimeConfig } from "./parse-config.js";

/**
 * Reads the configuration from a JSON file and fills in the defaults. The file is a regular one, or a
 * link to one, of at most 1 MiB.
 *
 * @throws (rejects) TypeError with code ERR_INVALID_ARG_VALUE that names the file and what is wrong
 * with it, and what the file system says in `cause`.
 */
export async function loadRuntimeConfig(path: string): Promise<RuntimeConfig> {
  try {
    const text = await readRegularFile(path, kMaxConfigBytes);
    return parseRuntimeConfig(JSON.parse(text.toString("utf8")));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalidValue(`${path}: ${reason}`, cause);
  }
}
