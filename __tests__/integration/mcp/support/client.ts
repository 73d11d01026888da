/** The official clients of both protocol generations, with `native-runner mcp` at their other end. */

import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach } from "vitest";

import { kCli } from "../../support/built-cli.js";
import { tempDirectory } from "../../support/temp.js";

/** "first": the SDK of old. The others are the new one's, speaking the older protocol and the newer. */
export const kGenerations = ["first", "legacy", "modern"] as const;
export type Generation = (typeof kGenerations)[number];

/** What a person says who is asked. */
export type Person = (
  message: string,
) => "yes" | "no" | "cancel" | Promise<"yes" | "no" | "cancel">;

export type ServerOptions = {
  workspace?: string;
  state?: string;
  /** Further words of the command line. */
  words?: readonly string[];
  person?: Person;
  /** URIs of the client's roots. */
  roots?: readonly string[];
  env?: Record<string, string>;
};

export type CallOptions = {
  onProgress?: (message: string) => void;
  signal?: AbortSignal;
  timeoutMs?: number;
};

export type Connected = {
  workspace: string;
  state: string;
  /** The server's process. */
  pid: number;
  protocol: string;
  call(
    name: string,
    input?: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<CallToolResult>;
  client: Client | FirstClient;
  /** Standard error so far. */
  said(): string;
  close(): Promise<void>;
};

const open: Connected[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function replyOf(person: Person, message: string) {
  const answer = await person(message);
  if (answer === "cancel") return { action: "cancel" as const };
  return { action: "accept" as const, content: { approve: answer === "yes" } };
}

export const serverWords = (workspace: string, state: string, words: readonly string[] = []) => [
  ...kCli,
  ...["mcp", "--workspace", workspace, "--state-directory", state],
  ...words,
];

/** The client alone: what it can do, and who answers. */
export function makeClient(
  generation: Generation,
  { person, roots }: Pick<ServerOptions, "person" | "roots">,
): Client | FirstClient {
  const info = { name: `test-${generation}`, version: "1" };
  const capabilities = {
    ...(person && { elicitation: {} }),
    ...(roots && { roots: { listChanged: true } }),
  };
  const listed = () => ({ roots: (roots ?? []).map((uri) => ({ uri })) });
  if (generation === "first") {
    const client = new FirstClient(info, { capabilities });
    if (person) {
      client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
        replyOf(person, params.message),
      );
    }
    if (roots) client.setRequestHandler(ListRootsRequestSchema, async () => listed());
    return client;
  }
  const mode = generation === "modern" ? ("auto" as const) : ("legacy" as const);
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  if (person) {
    client.setRequestHandler("elicitation/create", ({ params }) => replyOf(person, params.message));
  }
  if (roots) client.setRequestHandler("roots/list", async () => listed());
  return client;
}

/** Calls a tool with either client. */
export async function callTool(
  client: Client | FirstClient,
  name: string,
  input: Record<string, unknown>,
  { onProgress, signal, timeoutMs }: CallOptions,
): Promise<CallToolResult> {
  const options = {
    ...(onProgress && {
      onprogress: ({ message }: { message?: string | undefined }) => onProgress(message ?? ""),
    }),
    ...(signal && { signal }),
    timeout: timeoutMs ?? 60_000,
  };
  const request = { name, arguments: input };
  if (client instanceof Client) return client.callTool(request, options);
  return (await client.callTool(request, undefined, options)) as CallToolResult;
}

/** Starts a server and connects; both are gone after the test. */
export async function connect(
  generation: Generation,
  options: ServerOptions = {},
): Promise<Connected> {
  const { workspace = tempDirectory(), state = tempDirectory("state"), words } = options;
  const [command = "", ...args] = serverWords(workspace, state, words);
  const client = makeClient(generation, options);
  const parameters = {
    command,
    args,
    stderr: "pipe" as const,
    env: { ...(process.env as Record<string, string>), ...options.env },
  };
  const transport =
    generation === "first" ? new FirstTransport(parameters) : new StdioClientTransport(parameters);
  let said = "";
  transport.stderr?.on("data", (chunk) => {
    said += String(chunk);
  });
  await client.connect(transport as never);
  const negotiated = client instanceof Client ? client.getNegotiatedProtocolVersion() : undefined;
  const connected: Connected = {
    workspace,
    state,
    pid: transport.pid ?? 0,
    protocol: negotiated ?? "first",
    client,
    call: (name, input = {}, callOptions = {}) => callTool(client, name, input, callOptions),
    said: () => said,
    close: () => client.close(),
  };
  open.push(connected);
  return connected;
}

/** The text that a model reads. */
export function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

/** URIs that a result links to. */
export function linksOf({ content }: CallToolResult): string[] {
  return content.flatMap((block) => (block.type === "resource_link" ? [block.uri] : []));
}
