import OpenAI from "openai";

import { Failure } from "../failure.js";

/**
 * @typedef {OpenAI.Chat.Completions.ChatCompletionMessageParam} Message
 * @typedef {OpenAI.Chat.Completions.ChatCompletionMessageFunctionToolCall} ToolCall
 * @typedef {import("../tools/bash.js").BashTool | import("../tools/request-access.js").RequestAccessTool} Tool
 */

const kInterrupted = "[not run: interrupted]";

/** A talk with the model: it answers, or calls a tool and is told what came of it, until it is done. */
export class Conversation {
  #client;
  #model;
  #tools;
  #maxRounds;
  #onText;
  /** @type {number | undefined} */
  #tokens;
  /** @type {Message[]} */
  #messages;

  /**
   * @param {{ client: OpenAI, model: string, instructions: string, tools: Tool[], maxRounds: number,
   *   onText: (delta: string) => void }} parts `maxRounds`: answers with tool calls for one request
   */
  constructor({ client, model, instructions, tools, maxRounds, onText }) {
    this.#client = client;
    this.#model = model;
    this.#tools = tools;
    this.#maxRounds = maxRounds;
    this.#onText = onText;
    this.#messages = [{ role: "system", content: instructions }];
  }

  /** How many tokens it has taken since it began; undefined where the endpoint does not tell. */
  get tokens() {
    return this.#tokens;
  }

  /**
   * Another talk that begins as this one is now, with tools of its own.
   * @param {{ tools: Tool[], onText: (delta: string) => void }} parts
   */
  fork({ tools, onText }) {
    const fork = new Conversation({
      client: this.#client,
      model: this.#model,
      instructions: "",
      tools,
      maxRounds: this.#maxRounds,
      onText,
    });
    fork.#messages = [...this.#messages];
    return fork;
  }

  /**
   * Goes on as if it were the other one.
   * @param {Conversation} other
   */
  adopt(other) {
    this.#messages = [...other.#messages];
  }

  /**
   * One request of the user, to the model's last word on it. An aborted one rejects, and the talk can
   * go on.
   * @param {string} text
   * @param {AbortSignal} signal
   */
  async ask(text, signal) {
    try {
      await this.#ask(text, signal);
    } catch (error) {
      if (signal.aborted) throw new Failure("interrupted", { exitCode: 130, cause: error });
      throw error;
    }
  }

  /**
   * @param {string} text
   * @param {AbortSignal} signal
   */
  async #ask(text, signal) {
    this.#messages.push({ role: "user", content: text });
    for (let round = 0; round < this.#maxRounds; round++) {
      const calls = await this.#complete(signal);
      if (calls.length === 0) return;
      await this.#answerAll(calls, signal);
      signal.throwIfAborted();
    }
    throw new Failure(`the model was not done after ${this.#maxRounds} rounds (--max-rounds)`);
  }

  /**
   * The model's next message, of which the text is shown as it comes.
   * @param {AbortSignal} signal
   * @returns {Promise<ToolCall[]>}
   */
  async #complete(signal) {
    const stream = this.#client.chat.completions.stream(
      {
        model: this.#model,
        messages: this.#messages,
        tools: this.#tools.map((tool) => tool.definition),
        stream_options: { include_usage: true },
      },
      { signal },
    );
    stream.on("content", (delta) => this.#onText(delta));
    const { content, tool_calls: called = [] } = await stream.finalMessage();
    const { usage } = await stream.finalChatCompletion();
    if (usage) this.#tokens = (this.#tokens ?? 0) + usage.total_tokens;
    if (content && !content.endsWith("\n")) this.#onText("\n");
    const calls = called.filter((call) => call.type === "function");
    // Only what the interface defines goes back: the client adds fields that other servers refuse.
    const toolCalls = calls.map(({ id, type, function: { name, arguments: text } }) => ({
      id,
      type,
      function: { name, arguments: text },
    }));
    this.#messages.push({
      role: "assistant",
      content,
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    });
    return toolCalls;
  }

  /**
   * One after the other, since they share the workspace. Each gets an answer, without which the talk
   * could not go on, also when it is interrupted or the host fails.
   * @param {readonly ToolCall[]} calls
   * @param {AbortSignal} signal
   */
  async #answerAll(calls, signal) {
    /** @type {unknown[]} */
    const failures = [];
    for (const call of calls) {
      let content = kInterrupted;
      if (!signal.aborted && failures.length === 0) {
        content = await this.#answer(call, signal).catch((error) => {
          failures.push(error);
          return "[not run: the host could not run it]";
        });
      }
      this.#messages.push({ role: "tool", tool_call_id: call.id, content });
    }
    if (failures.length > 0) throw failures[0];
  }

  /**
   * @param {ToolCall} call
   * @param {AbortSignal} signal
   */
  async #answer({ function: { name, arguments: text } }, signal) {
    const tool = this.#tools.find((each) => each.name === name);
    if (tool !== undefined) return tool.call(text, signal);
    const names = this.#tools.map((each) => each.name).join(" and ");
    return `[not run: there is no tool ${JSON.stringify(name)}, only ${names}]`;
  }
}

/**
 * What went wrong with the model's service, in words; undefined for anything else.
 * @param {unknown} error
 */
export function serviceFailure(error) {
  if (!(error instanceof OpenAI.OpenAIError)) return undefined;
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `the model's endpoint: ${error.message}${cause}`;
}
