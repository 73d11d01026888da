import * as v from "valibot";

/**
 * A tool's arguments as the model wrote them, checked against its schema.
 * @template {v.GenericSchema} Schema
 * @param {Schema} schema
 * @param {string} text
 * @returns {{ ok: true, value: v.InferOutput<Schema> } | { ok: false, reason: string }}
 */
export function parseArguments(schema, text) {
  /** @type {unknown} */
  let json;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { ok: false, reason: `the arguments are no JSON: ${String(error)}` };
  }
  const parsed = v.safeParse(schema, json);
  if (parsed.success) return { ok: true, value: parsed.output };
  const reasons = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? "it"}: ${issue.message}`);
  return { ok: false, reason: reasons.join("; ") };
}
