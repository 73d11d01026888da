import stripJsonComments from "strip-json-comments";

import { invalidValue } from "../errors.js";
import { suggestion } from "../fields.js";
import { kMaxConfigBytes, readRegularFile } from "../regular-file.js";
import type { RuntimeConfig } from "./config.js";
import { type ConfigIssue, checkConfig } from "./config-schema.js";

function describe(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function messageOf(issue: ConfigIssue, written: ReadonlyMap<string, string>): string {
  const spelled = issue.path.map(
    (name, index) => written.get(issue.path.slice(0, index + 1).join(".")) ?? name,
  );
  const place = spelled.join(".");
  if (issue.unknownKey) {
    const last = spelled.at(-1) ?? "";
    const meant = suggestion(last, issue.choices);
    return `Unknown setting \`${place}\`${meant || `; there are ${issue.choices.join(", ")}`}`;
  }
  const { received } = issue;
  const meant = typeof received === "string" ? suggestion(received, issue.choices) : "";
  const what = place === "" ? "the configuration" : `\`${place}\``;
  return `Expected ${what} to be ${issue.expected}, got ${describe(received)}${meant}`;
}

/**
 * Checks a configuration, in camelCase or snake_case, and fills in the defaults.
 *
 * @throws TypeError with code ERR_INVALID_ARG_VALUE that names the setting, and the nearest name
 * for one that there is not.
 */
export function parseRuntimeConfig(value: unknown): RuntimeConfig {
  const { value: camel, written } = camelKeys(value);
  const checked = checkConfig(camel);
  if ("config" in checked) return checked.config;
  throw invalidValue(messageOf(checked.issue, written));
}

/** Keys of a configuration as they were written, and as the schema knows them. */

/** A value with its keys in camelCase. */
type CamelKeys = {
  value: unknown;
  /** How a key was written, by its camelCase path joined with dots. */
  written: ReadonlyMap<string, string>;
};

const camelCase = (key: string) =>
  key.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws TypeError when a key is there in both spellings. */
function camelKeys(value: unknown): CamelKeys {
  const written = new Map<string, string>();
  const convert = (inner: unknown, path: string): unknown => {
    if (Array.isArray(inner)) {
      return inner.map((element, index) => convert(element, `${path}.${index}`));
    }
    if (!isRecord(inner)) return inner;
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, field] of Object.entries(inner)) {
      if (field === undefined) continue; // left out
      const name = camelCase(key);
      const place = path === "" ? name : `${path}.${name}`;
      const other = written.get(place);
      if (other !== undefined) {
        throw invalidValue(`\`${other}\` and \`${key}\` are the same setting; leave one out`);
      }
      written.set(place, key);
      Object.defineProperty(copy, name, { value: convert(field, place), enumerable: true });
    }
    return copy;
  };
  return { value: convert(value, ""), written };
}

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
