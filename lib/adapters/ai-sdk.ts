/** `@openagentic/native-runner/ai-sdk`: the sandbox's tools for Vercel's AI SDK, with its own approval. */

import type { Tool as AiTool } from "ai";
import { standardOf, type Tool, type ToolContext } from "../mcp/tool.js";

import { toolsOf } from "../mcp/tools/all.js";
import { type SandboxToolsOptions, toolSandboxOf } from "./tool-sandbox.js";

export type { SandboxToolsOptions, ToolReviewOptions } from "./tool-sandbox.js";

/** Tools for `generateText` and `streamText`, by name. */
export type AiSandbox = {
  tools: Record<string, AiTool>;
  /** Ends all commands and keeps the transaction; resolves with its id if it has changes. */
  close(): Promise<string | undefined>;
};

/** Options of {@link createSandboxTools}. */
export type AiSandboxOptions = SandboxToolsOptions & {
  /** Tools that need an approval besides `commit`, which always needs one. Default none. */
  needsApproval?: readonly string[] | undefined;
};

/**
 * Returns the tools of `native-runner mcp` for the AI SDK. `commit` waits for an approval through the SDK's
 * `needsApproval`. Show `changes` or `diff` to the person who approves: the SDK shows only the call's input.
 *
 * @throws TypeError on a wrong option
 * @example
 * const { tools, close } = createSandboxTools({ runner });
 * const { text } = await generateText({ model, tools, prompt, stopWhen: stepCountIs(20) });
 */
export function createSandboxTools({
  needsApproval = [],
  ...options
}: AiSandboxOptions): AiSandbox {
  const sandbox = toolSandboxOf(options);

  async function execute(tool: Tool, input: Record<string, unknown>, signal?: AbortSignal) {
    const context: ToolContext = {
      sandbox,
      signal: signal ?? new AbortController().signal,
      progress: () => {},
      canAsk: true, // the SDK has asked before the call
      approval: undefined,
      narrowing: undefined,
      client: "the AI SDK",
    };
    const first = await tool.call(input, context);
    if (!("question" in first)) return first.structured;
    const approval = { approved: true, about: first.about };
    const second = await tool.call(input, { ...context, approval });
    if ("question" in second) throw new Error(`${tool.name} needs another approval`);
    return second.structured;
  }

  const tools = toolsOf(sandbox.policy).map((tool): [string, AiTool] => [
    tool.name,
    {
      description: tool.description,
      inputSchema: standardOf(tool.input) as AiTool["inputSchema"], // the same standard, declared twice
      needsApproval: tool.name === "commit" || needsApproval.includes(tool.name),
      execute: (input, { abortSignal }) => execute(tool, input, abortSignal),
    },
  ]);
  return { tools: Object.fromEntries(tools), close: () => sandbox.close() };
}
