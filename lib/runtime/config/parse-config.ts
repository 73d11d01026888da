import { invalidValue } from "../../errors.js";
import { suggestion } from "../../nearest.js";
import type { RuntimeConfig } from "./config.js";
import { camelKeys } from "./config-keys.js";
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
