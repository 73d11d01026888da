/** The type of a tool, and the context of a call; independent of the protocol. */

import type { StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";

import type { Narrowing } from "./roots.js";
import type { Link, ToolSandbox } from "./sandbox.js";

/** A schema that parses a value, and converts to JSON Schema. */
type Schema = v.GenericSchema<unknown, Record<string, unknown>>;

/** The result of a call. */
export type Answer<Output> = {
  /** Text for the model. */
  text: string;
  structured: Output;
  links?: readonly Link[];
};

/** A question that a person has to answer with yes before a call proceeds. */
export type Question = {
  /** The full text shown to the person, without control characters. */
  question: string;
  /** Label of the yes, in a few words. */
  label: string;
  /** Data that the call gets back with the answer. Never leaves this process. */
  about: unknown;
};

/** An answer to a {@link Question}. */
export type Approval = { approved: boolean; about: unknown };

/** Context of a call, besides its input. */
export type ToolContext = {
  sandbox: ToolSandbox;
  /** Aborted when the client cancels the call, or disconnects. */
  signal: AbortSignal;
  /** Sends a sign of life to the client. */
  progress(message: string): void;
  /** True if the client can ask a person. */
  canAsk: boolean;
  /** The answer to the question that this call asked before. */
  approval: Approval | undefined;
  /** The part of the workspace that the client's roots allow. */
  narrowing: Narrowing;
  /** The client's own name: a hint, and no proof. */
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
  /**
   * Runs the tool.
   * @throws (rejects) {@link ToolError} if the call is refused
   */
  call(
    input: v.InferOutput<Input>,
    context: ToolContext,
  ): Promise<Answer<v.InferOutput<Output>> | Question>;
};

/** The field of tools that work in a branch where one is named: the sandbox of their context is the branch's. */
export const kBranchField = {
  branch: v.optional(v.string()),
};

/** @throws ToolError for a branch that is not there */
function sandboxFor(
  input: Record<string, unknown>,
  schema: Schema,
  trunk: ToolSandbox,
): ToolSandbox {
  const { entries } = schema as { entries?: { branch?: unknown } };
  const { branch } = input;
  const isNamed = entries?.branch === kBranchField.branch && typeof branch === "string";
  return isNamed ? trunk.branch(branch) : trunk;
}

/** Returns the same tool with a type that fits a list; its input has passed its own schema. */
export function defineTool<Input extends Schema, Output extends Schema>(
  tool: Tool<Input, Output>,
): Tool {
  const call: Tool["call"] = async (input, context) => {
    const sandbox = sandboxFor(input, tool.input, context.sandbox);
    return tool.call(input as v.InferOutput<Input>, { ...context, sandbox });
  };
  return { ...tool, call } as unknown as Tool;
}

/** Omits custom checks, which JSON Schema can't express, and lengths that no model comes near. */
const kShown = { ignoreActions: ["check", "max_length"], typeMode: "output" as const };

type Issue = { message: string; path?: readonly unknown[] | undefined };

/** Names an unknown field, of which valibot says only that it expected "never". */
function named(issue: Issue): Issue {
  const [, field] = /^Invalid key: Expected never but received (.*)$/.exec(issue.message) ?? [];
  return field === undefined ? issue : { ...issue, message: `Unknown field ${field}` };
}

/**
 * Converts a schema to the form that SDKs take (standardschema.dev). A failed validation has no value besides its
 * issues. valibot returns one as well, and the AI SDK treats any result with a value as valid.
 */
export function standardOf(schema: Schema): StandardSchemaWithJSON<Record<string, unknown>> {
  let json: Record<string, unknown> | undefined; // cached: the SDK asks for it with each call
  const shown = () => {
    if (json !== undefined) return json;
    // A model reads all schemas. The dialect is left out: these use only what is the same in all of them.
    const { $schema: _, ...rest } = toJsonSchema(schema, kShown);
    json = rest;
    return json;
  };
  const { validate, version, vendor } = schema["~standard"];
  const standard = {
    ...{ version, vendor, jsonSchema: { input: shown, output: shown } },
    validate: async (value: unknown) => {
      const { issues, ...valid } = await validate(value);
      return issues === undefined ? valid : { issues: issues.map(named) };
    },
  };
  return { "~standard": standard } as unknown as StandardSchemaWithJSON<Record<string, unknown>>;
}
