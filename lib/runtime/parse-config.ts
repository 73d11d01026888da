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
 * @throws TypeError with code ERR_INVALID_ARG_VALUE naming the setting, and, for an unknown one, the nearest
 * name.
 */
export function parseRuntimeConfig(value: unknown): RuntimeConfig {
  const { value: camel, written } = camelKeys(value);
  const checked = checkConfig(camel);
  if ("config" in checked) return checked.config;
  throw invalidValue(messageOf(checked.issue, written));
}

/** Maps keys of a configuration from their written form to those of the schema. */

/** A value with its keys in camelCase. */
type CamelKeys = {
  value: unknown;
  /** The written form of a key, by its camelCase path joined with dots. */
  written: ReadonlyMap<string, string>;
};

const camelCase = (key: string) =>
  key.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws TypeError if a key occurs in both spellings. */
function camelKeys(value: unknown): CamelKeys {
  const written = new Map<string, string>();
  const convert = (inner: unknown, path: string): unknown => {
    if (Array.isArray(inner)) {
      return inner.map((element, index) => convert(element, `${path}.${index}`));
    }
    if (!isRecord(inner)) return inner;
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, field] of Object.entries(inner)) {
      if (field === undefined) continue; // omitted
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
 * Parses the text of a configuration file: JSON with JavaScript comments, and no other extensions.
 *
 * @throws TypeError with code ERR_INVALID_ARG_VALUE naming `path` and the error.
 */
export function parseConfigText(text: string, path: string): RuntimeConfig {
  try {
    // Comments are replaced by spaces, so that the parser's positions are right.
    return parseRuntimeConfig(JSON.parse(stripJsonComments(text)));
  } catch (cause) {
    throw naming(path, cause);
  }
}

/**
 * Reads the configuration from a JSON file, which may contain comments, and fills in the defaults. The file
 * must be a regular file, or a link to one, of at most 1 MiB.
 *
 * @throws (rejects) TypeError with code ERR_INVALID_ARG_VALUE naming the file and its error, with the file
 * system's error as `cause`.
 */
export async function loadRuntimeConfig(path: string): Promise<RuntimeConfig> {
  const bytes = await readRegularFile(path, kMaxConfigBytes).catch((cause) => {
    throw naming(path, cause);
  });
  return parseConfigText(bytes.toString("utf8"), path);
}
