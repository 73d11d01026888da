/** What the model may say to the Bash tool: one schema, to tell it and to check it. */

import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";

import { parseArguments } from "./arguments.js";

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

/** The parameters in the form that the model's interface wants. */
export function bashParameters() {
  const { $schema: _, ...schema } = toJsonSchema(Schema);
  return /** @type {Record<string, unknown>} */ (schema);
}

/** @param {string} text the arguments as the model wrote them */
export const parseBashArguments = (text) => parseArguments(Schema, text);
