/** The adapters in the hands of their SDKs. Compiled, never run, by declarations.test.ts. */

import { McpServer } from "@modelcontextprotocol/server";
import {
  BubblewrapNativeRunner,
  LocalNativeRunner,
  type NativeRunner,
} from "@openagentic/native-runner";
import { type AiSandbox, createSandboxTools as aiTools } from "@openagentic/native-runner/ai-sdk";
import {
  type McpSandboxOptions,
  createSandboxTools as mcpTools,
} from "@openagentic/native-runner/mcp";
import { createSandboxShell } from "@openagentic/native-runner/openai-agents";
import {
  type ReviewComment,
  type ReviewCommentEvent,
  type ReviewOptions,
  type ServedReview,
  serveReview,
} from "@openagentic/native-runner/review";
import { Agent, shellTool } from "@openai/agents";
import { generateText, type LanguageModel, stepCountIs } from "ai";

const runner = new BubblewrapNativeRunner({ shadowDir: "/srv/project" });

export async function withAi(model: LanguageModel): Promise<string> {
  const sandbox: AiSandbox = aiTools({ runner, needsApproval: ["run"] });
  const { tools } = sandbox;
  const { text } = await generateText({ model, tools, prompt: "x", stopWhen: stepCountIs(2) });
  return (await sandbox.close()) ?? text;
}

export async function withMcp(options: McpSandboxOptions): Promise<McpServer> {
  const server = new McpServer({ name: "mine", version: "1.0.0" });
  (await mcpTools(options)).addTo(server);
  return server;
}

export async function withAgents(): Promise<Agent[]> {
  const transaction = await runner.openTransaction();
  const runners: NativeRunner[] = [transaction, new LocalNativeRunner({ shadowDir: "/srv" })];
  return runners.map((each) => {
    const shell = createSandboxShell(each, { limits: { timeoutMs: 1000 } });
    return new Agent({ name: "a", tools: [shellTool({ shell, needsApproval: true })] });
  });
}

// @ts-expect-error a runner without transactions
aiTools({ runner: new LocalNativeRunner({ shadowDir: "/srv" }) });
// @ts-expect-error there is no such option
createSandboxShell(runner, { timeoutMs: 1000 });

export async function withReview(options: Partial<ReviewOptions>): Promise<string> {
  const transaction = await runner.openTransaction();
  const told: [ReviewComment, ReviewCommentEvent][] = [];
  const onComment = (...each: [ReviewComment, ReviewCommentEvent]) => told.push(each);
  const served: ServedReview = await serveReview({ ...options, transaction, runner, onComment });
  const [comment] = await served.comments();
  const seen = await transaction.changes({ details: true });
  const contents = { "a.txt": new Uint8Array() };
  await transaction.commit({ expected: seen, contents, paths: ["a.txt"], exact: true });
  const [run] = await transaction.runs();
  const place = comment && `${comment.path}:${comment.line ?? 0} ${comment.isOutdated}`;
  return `${place} ${served.url} ${run?.audit.outcome} ${run?.endedAt.getTime()} ${seen[0]?.version}`;
}
