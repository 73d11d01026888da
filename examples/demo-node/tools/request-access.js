import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";

import { parseArguments } from "./arguments.js";

const Schema = v.strictObject({
  denial: v.pipe(v.string(), v.nonEmpty(), v.description("The id of the denial, such as D1.")),
});

/** The tool by which the model asks for what a command was denied. It decides nothing itself. */
export class RequestAccessTool {
  name = "RequestAccess";
  #access;

  /** @param {import("../access/access.js").Access} access */
  constructor(access) {
    this.#access = access;
  }

  /** As the model's interface wants it. */
  get definition() {
    const { $schema: _, ...parameters } = toJsonSchema(Schema);
    return /** @type {const} */ ({
      type: "function",
      function: {
        name: this.name,
        description:
          "Asks the user to grant what the sandbox denied a command. The user may say no; then go on without it.",
        parameters: /** @type {Record<string, unknown>} */ (parameters),
      },
    });
  }

  /**
   * @param {string} argumentsText
   * @param {AbortSignal} signal
   */
  async call(argumentsText, signal) {
    const parsed = parseArguments(Schema, argumentsText);
    if (!parsed.ok) return `[not asked: ${parsed.reason}]`;
    return this.#access.request(parsed.value.denial, signal);
  }
}
