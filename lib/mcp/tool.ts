/** What a tool is, and what it is given when it is called; nothing here knows the protocol. */

import type { StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";

import type { Narrowing } from "./roots.js";
import type { Link, ToolSandbox } from "./sandbox.js";

/** A schema that reads a value, and shows itself as JSON Schema. */
type Schema = v.GenericSchema<unknown, Record<string, unknown>>;

/** What a call comes to. */
export type Answer<Output> = {
  /** For the model to read. */
  text: string;
  structured: Output;
  links?: readonly Link[];
};

/** What a person has to say yes to before a call goes on. */
export type Question = {
  /** All that the person sees; nothing in it is a terminal's to obey. */
  question: string;
  /** What yes means, in a few words. */
  label: string;
  /** What the call finds again when there is an answer. Never leaves this process. */
  about: unknown;
};

/** An answer to a {@link Question}. */
export type Approval = { approved: boolean; about: unknown };

/** What a call is given besides its input. */
export type ToolContext = {
  sandbox: ToolSandbox;
  /** Aborted when the client gives the call up, or has gone. */
  signal: AbortSignal;
  /** Tells the client that it goes on. */
  progress(message: string): void;
  /** Whether the client can ask a person. */
  canAsk: boolean;
  /** The answer to the question that this call has put before. */
  approval: Approval | undefined;
  /** What the client's roots leave of the workspace. */
  narrowing: Narrowing;
  /** The client, as it names itself: a hint, and no proof. */
  client: string;
};

/** One tool. */
export type Tool<Input extends Schema = Schema, Output extends Schema = Schema> = {
  name: string;
  title: string;
  description: string;
  input: Input;
  output: Output;
  annotations: ToolAnnotations;
  /** Throws {@link ToolError} where it is refused. */
  call(
    input: v.InferOutput<Input>,
    context: ToolContext,
  ): Promise<Answer<v.InferOutput<Output>> | Question>;
};

/** The same tool as one of a list: its input is what its own schema has let through. */
export function defineTool<Input extends Schema, Output extends Schema>(
  tool: Tool<Input, Output>,
): Tool {
  return tool as unknown as Tool;
}

/** A check of our own has no words in JSON Schema. */
const kShown = { ignoreActions: ["check"], typeMode: "output" as const };

/**
 * As the SDKs take schemas (standardschema.dev). What failed has no value beside its issues, which valibot
 * gives as well: the AI SDK takes whatever has a value for valid.
 */
export function standardOf(schema: Schema): StandardSchemaWithJSON<Record<string, unknown>> {
  let json: Record<string, unknown> | undefined; // the SDK asks for it with each call
  const shown = () => {
    json ??= { ...toJsonSchema(schema, kShown) };
    return json;
  };
  const { validate, version, vendor } = schema["~standard"];
  const standard = {
    ...{ version, vendor, jsonSchema: { input: shown, output: shown } },
    validate: async (value: unknown) => {
      const { issues, ...valid } = await validate(value);
      return issues === undefined ? valid : { issues };
    },
  };
  return { "~standard": standard } as unknown as StandardSchemaWithJSON<Record<string, unknown>>;
}
