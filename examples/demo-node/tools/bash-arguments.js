/** What the model may say to the Bash tool: one schema, to tell it and to check it. */

import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";

export const kDefaultTimeoutMs = 60_000;
const kMaxTimeoutMs = 600_000;

const Schema = v.strictObject({
  command: v.pipe(v.string(), v.nonEmpty(), v.description("The command line, for bash -c.")),
  stdin: v.optional(
    v.pipe(v.string(), v.description("Text for its standard input; nothing by default.")),
  ),
  timeout_ms: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.maxValue(kMaxTimeoutMs),
      v.description(`Milliseconds until it is ended; ${kDefaultTimeoutMs} by default.`),
    ),
  ),
});

/** @typedef {v.InferOutput<typeof Schema>} BashArguments */

/** The parameters in the form that the model's interface wants. */
export function bashParameters() {
  const { $schema: _, ...schema } = toJsonSchema(Schema);
  return /** @type {Record<string, unknown>} */ (schema);
}

/**
 * @param {string} text the arguments as the model wrote them
 * @returns {{ ok: true, value: BashArguments } | { ok: false, reason: string }}
 */
export function parseBashArguments(text) {
  /** @type {unknown} */
  let json;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { ok: false, reason: `the arguments are no JSON: ${String(error)}` };
  }
  const parsed = v.safeParse(Schema, json);
  if (parsed.success) return { ok: true, value: parsed.output };
  const reasons = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? "it"}: ${issue.message}`);
  return { ok: false, reason: reasons.join("; ") };
}
