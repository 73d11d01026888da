/** An MCP server with the tools of one sandbox. */

import { randomUUID } from "node:crypto";

import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";

import { registerComments } from "./comments.js";
import { type Narrowing, narrowingOf } from "./roots.js";
import { kOutputTemplate, type ToolSandbox } from "./sandbox.js";
import type { McpSdk } from "./sdk.js";
import { standardOf, type Tool, type ToolContext } from "./tool.js";
import { toolsOf } from "./tools/all.js";
import { ToolError } from "./words.js";

const kInstructions =
  "Commands run in a sandbox. What they change waits in a transaction: look at it with `changes` and `diff`, then `commit` it (a person is asked) or `discard` it. `checkpoint` and `rollback` go back within it; `fork` begins a branch, `adopt` takes one. What the sandbox refuses is said in the answer, with what would allow it.";

/**
 * Makes a server.
 * @param version the package's version
 */
export function makeServer(serving: Serving, version: string): McpServer {
  const server = new serving.sdk.McpServer(
    { name: "native-runner", title: "native-runner", version },
    { instructions: [serving.sandbox.policy.about, kInstructions].filter(Boolean).join(" ") },
  );
  registerTools(server, serving);
  registerResources(server, serving);
  return server;
}

/** Connects the SDK's server with the tools: converts between the protocol and the tools' own types. */

/** Milliseconds that a connection waits for a person's answer. */
const kHostAnswerMs = 30_000;

/** State shared by all servers of one sandbox. */
export type Serving = {
  sdk: McpSdk;
  sandbox: ToolSandbox;
  questions: Questions;
  /** Milliseconds between two signs of life in a call. */
  heartbeatMs: number;
};

export function servingOf(sdk: McpSdk, sandbox: ToolSandbox, heartbeatMs = kHeartbeatMs): Serving {
  return { sdk, sandbox, questions: new Questions(), heartbeatMs };
}

type Capabilities = { elicitation?: { form?: unknown; url?: unknown }; roots?: unknown };

const envelopeOf = ({ mcpReq }: ServerContext) =>
  (mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>;

/** Returns the client's capabilities, which it sends with each request, or once at the start. */
function capabilitiesOf(server: McpServer, ctx: ServerContext, sdk: McpSdk): Capabilities {
  const own = envelopeOf(ctx)[sdk.CLIENT_CAPABILITIES_META_KEY];
  return (own ?? server.server.getClientCapabilities() ?? {}) as Capabilities;
}

function clientOf(server: McpServer, ctx: ServerContext, sdk: McpSdk): string {
  const own = envelopeOf(ctx)[sdk.CLIENT_INFO_META_KEY] as { name?: unknown } | undefined;
  return String(own?.name ?? server.server.getClientVersion()?.name ?? "a client").slice(0, 100);
}

/** The form shown to a person. */
const yesOrNo = (label: string) => ({
  type: "object" as const,
  properties: { approve: { type: "boolean" as const, title: label } },
  required: ["approve"],
});

/** True if the client can show a form; a client that supports only URLs can't be used. */
const canAsk = ({ elicitation }: Capabilities) =>
  elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);

function failure(error: unknown): CallToolResult {
  const { message, code, fix } = error as { message?: unknown; code?: unknown; fix?: unknown };
  const named = typeof code === "string" && !(error instanceof ToolError) ? ` (${code})` : "";
  const help = typeof fix === "string" ? `\nfix: ${fix}` : "";
  return { content: [{ type: "text", text: `${message ?? error}${named}${help}` }], isError: true };
}

/** Registers the tools with one server, which serves one connection or one request. */
export function registerTools(server: McpServer, serving: Serving): void {
  const { sdk, sandbox, questions } = serving;
  const { inputRequired, inputResponse } = sdk;
  let known: { narrowing: Narrowing } | undefined; // only for a connection, which reports changes of its roots
  server.server.setNotificationHandler("notifications/roots/list_changed", () => {
    known = undefined;
  });

  let forget: (() => void) | undefined;
  /** Lets commands ask through this connection during a call, which the newer protocol generation does not support. */
  function beAsked(): void {
    forget ??= sandbox.hosts.add(async (question, label, signal) => {
      const form = { message: question, requestedSchema: yesOrNo(label) };
      const options = { signal, timeout: kHostAnswerMs };
      const { action, content } = await server.server.elicitInput(form, options);
      return action === "accept" && content?.approve === true;
    });
  }
  const closed = server.server.onclose;
  server.server.onclose = () => {
    forget?.();
    closed?.();
  };

  async function call(tool: Tool, input: Record<string, unknown>, ctx: ServerContext) {
    const { mcpReq } = ctx;
    const capabilities = capabilitiesOf(server, ctx, sdk);
    const key = mcpReq.requestState<string>();
    const pending = questions.take(key, tool.name);
    if (key !== undefined && pending === undefined) {
      throw new ToolError("this was answered before, or too late: call the tool again");
    }
    let narrowing = pending?.narrowing ?? known?.narrowing;
    if (pending === undefined && known === undefined && capabilities.roots !== undefined) {
      const response = inputResponse(mcpReq.inputResponses, "roots");
      if (response.kind !== "roots") {
        return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
      }
      narrowing = narrowingOf(sandbox.policy.workspace, response.roots);
      if (mcpReq.envelope === undefined) known = { narrowing };
    }
    if (mcpReq.envelope === undefined && canAsk(capabilities)) beAsked();
    const heartbeat = startHeartbeat(mcpReq, serving.heartbeatMs);
    const context: ToolContext = {
      sandbox,
      signal: mcpReq.signal,
      progress: heartbeat.tell,
      canAsk: canAsk(capabilities),
      approval: pending && { approved: isYes(mcpReq.inputResponses, sdk), about: pending.about },
      narrowing,
      client: clientOf(server, ctx, sdk),
    };
    try {
      const answer = await tool.call(input, context);
      if (!("question" in answer)) {
        const links = (answer.links ?? []).map((link) => ({
          type: "resource_link" as const,
          ...link,
        }));
        return {
          content: [{ type: "text" as const, text: answer.text }, ...links],
          structuredContent: answer.structured,
        };
      }
      const { question, label, about } = answer;
      return inputRequired({
        requestState: questions.put({ tool: tool.name, about, narrowing }),
        inputRequests: {
          answer: inputRequired.elicit({
            message: question,
            requestedSchema: yesOrNo(label),
          }),
        },
      });
    } finally {
      heartbeat.stop();
    }
  }

  for (const tool of toolsOf(sandbox.policy)) {
    server.registerTool(
      tool.name,
      {
        title: tool.title,
        description: tool.description,
        inputSchema: standardOf(tool.input),
        outputSchema: standardOf(tool.output),
        annotations: tool.annotations,
      },
      async (input, ctx) => call(tool, input, ctx).catch(failure),
    );
  }
}

/** True only for an explicit yes. */
function isYes(responses: Record<string, unknown> | undefined, sdk: McpSdk): boolean {
  const content = sdk.acceptedContent(responses, "answer");
  return content?.approve === true;
}

/** Signs of life during a call, for clients that request them: they give up after a minute without one. */

const kHeartbeatMs = 10_000;

export type Heartbeat = { tell(message: string): void; stop(): void };

/** Starts at once; sends the elapsed time, and each text given to `tell`. */
function startHeartbeat(request: ServerContext["mcpReq"], everyMs: number): Heartbeat {
  const token = request._meta?.progressToken;
  if (token === undefined) return { tell: () => {}, stop: () => {} };
  const start = performance.now();
  let progress = 0;
  let isOver = false;
  const tell = (message: string) => {
    if (isOver || request.signal.aborted) return;
    progress += 1; // has to grow
    request
      .notify({
        method: "notifications/progress",
        params: { progressToken: token, progress, message },
      })
      .catch(() => {}); // the client has disconnected
  };
  const timer = setInterval(() => {
    tell(`goes on for ${Math.round((performance.now() - start) / 1000)} s`);
  }, everyMs);
  return {
    tell,
    stop: () => {
      isOver = true;
      clearInterval(timer);
    },
  };
}

/** Questions that a person has not answered yet. Each is answered once, through the tool that asked it. */

/** A question that waits for an answer. */
export type Pending = { tool: string; about: unknown; narrowing: Narrowing };

const kMostPending = 64;

export class Questions {
  readonly #pending = new Map<string, Pending>(); // the oldest first

  /**
   * Stores a question, and returns a key that the client sends back with the answer: it can't be guessed, and reveals
   * nothing.
   */
  put(pending: Pending): string {
    const key = randomUUID();
    this.#pending.set(key, pending);
    const [oldest] = this.#pending.keys();
    if (this.#pending.size > kMostPending && oldest !== undefined) this.#pending.delete(oldest);
    return key;
  }

  /** Takes a question; undefined if this tool has none with the key, or it was answered before. */
  take(key: unknown, tool: string): Pending | undefined {
    const pending = typeof key === "string" ? this.#pending.get(key) : undefined;
    if (pending?.tool !== tool) return undefined;
    this.#pending.delete(key as string);
    return pending;
  }
}

/** Resources: the texts that tools link to. */

/** Registers the resources with one server. */
export function registerResources(server: McpServer, { sandbox, sdk }: Serving): void {
  const { outputs, policy } = sandbox;
  const template = new sdk.ResourceTemplate(kOutputTemplate, {
    list: () => ({ resources: outputs.links() }),
  });
  const about = {
    title: "What a command wrote, or a diff",
    description: "In parts of at most a mebibyte. The oldest are forgotten.",
    mimeType: "text/plain",
  };
  server.registerResource("output", template, about, (uri, { id, stream, part }) => {
    const text = outputs.read(String(id), String(stream), String(part));
    if (text === undefined) throw new sdk.ResourceNotFoundError(uri.href);
    return { contents: [{ uri: uri.href, mimeType: "text/plain", text }] };
  });
  if (policy.review !== undefined) registerComments(server, policy.review);
}
