/**
 * A model's endpoint on the loopback that says what it was told to: chat completions with tool calls,
 * streamed in small pieces. Its turns are consumed in order, one by each request, or chosen by a function.
 * @module
 */

import { createServer } from "node:http";
import { json } from "node:stream/consumers";

/**
 * `arguments` that are no string are sent as JSON; `script` is short for the Bash tool's command.
 * `meanwhile` is done before the turn is said. `end`: "hang" never ends it, "cut" breaks it off.
 *
 * @typedef {{ name?: string, script?: string, arguments?: unknown }} Call
 * @typedef {{ text?: string, calls?: Call[], status?: number, end?: "hang" | "cut", tokens?: number,
 *   meanwhile?: () => void }} Turn `tokens`: told as the usage
 * @typedef {{ role: string, content: string | null, tool_call_id?: string }} Message
 * @typedef {{ model: string, stream: boolean, messages: Message[], tools: unknown[] }} Request
 */

const kPieces = 3;

/** @param {string} text */
function inPieces(text) {
  const size = Math.ceil(text.length / kPieces) || 1;
  return Array.from({ length: kPieces }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** @param {Call} call */
function argumentsOf({ script, arguments: given = { command: script } }) {
  return typeof given === "string" ? given : JSON.stringify(given);
}

/**
 * The deltas of one message.
 * @param {Turn} turn
 * @param {number} number of the request, for the ids
 */
function* deltasOf({ text = "", calls = [] }, number) {
  yield { role: "assistant", content: "" };
  for (const content of inPieces(text)) yield { content };
  for (const [index, call] of calls.entries()) {
    const { name = "Bash" } = call;
    const id = `call_${number}_${index}`;
    yield { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
    for (const piece of inPieces(argumentsOf(call))) {
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
    }
  }
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {Turn} turn
 * @param {Request} request
 * @param {number} number
 */
function stream(response, turn, request, number) {
  const common = {
    id: `chatcmpl-${number}`,
    object: "chat.completion.chunk",
    created: 0,
    model: request.model,
  };
  /** @param {object} delta @param {string | null} reason */
  const send = (delta, reason) =>
    response.write(
      `data: ${JSON.stringify({ ...common, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`,
    );
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const delta of deltasOf(turn, number)) send(delta, null);
  if (turn.end === "hang") return;
  if (turn.end === "cut") {
    response.destroy();
    return;
  }
  send({}, turn.calls ? "tool_calls" : "stop");
  if (turn.tokens !== undefined) {
    const usage = { prompt_tokens: turn.tokens, completion_tokens: 0, total_tokens: turn.tokens };
    response.write(`data: ${JSON.stringify({ ...common, choices: [], usage })}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}

/**
 * @param {readonly Turn[] | ((request: Request) => Turn | Promise<Turn>)} turns
 */
export async function startScriptedModel(turns) {
  const rest = typeof turns === "function" ? [] : [...turns];
  const next = typeof turns === "function" ? turns : () => rest.shift();
  /** @type {Request[]} */
  const requests = [];
  const server = createServer(async (incoming, response) => {
    const request = /** @type {Request} */ (await json(incoming));
    requests.push(request);
    const isKnown = incoming.url === "/v1/chat/completions" && request.stream;
    const turn = isKnown ? await next(request) : undefined;
    turn?.meanwhile?.();
    if (turn !== undefined && turn.status === undefined) {
      stream(response, turn, request, requests.length);
      return;
    }
    const { status = 400, text = "the script is over" } = turn ?? {};
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: text } }));
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", () => resolve(undefined));
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    /** What it was asked, in order. */
    requests,
    /** What the tool answered, in order. */
    answers: () =>
      (requests.at(-1)?.messages ?? [])
        .filter(({ role }) => role === "tool")
        .map(({ content }) => content ?? ""),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
