/**
 * The engine process for components: reads a request with a transpiled component, calls its `execute`, writes
 * one answer. The component has no imports, so it can print nothing.
 */

import { readFileSync } from "node:fs";

import { type AnswerMessage, failureOf, type RequestMessage, writeAll } from "./answer.mjs";
import type { TranspiledComponent } from "./transpile.mjs";

type ComponentRequest = RequestMessage & { component: TranspiledComponent };

type Exports = { execute(input: string): unknown };
type Script = {
  instantiate(
    getCoreModule: (name: string) => WebAssembly.Module,
    imports: Record<string, never>,
  ): Promise<Exports>;
};

/** Returns the payload of the error that a component's `err(…)` is thrown as. */
const payloadOf = (error: unknown) => (error as { payload?: unknown } | null)?.payload;

async function run({ component, input }: ComponentRequest): Promise<AnswerMessage> {
  const { javascript, modules } = component;
  const url = `data:text/javascript;base64,${Buffer.from(javascript).toString("base64")}`;
  const { instantiate } = (await import(url)) as Script;
  const compile = (name: string) =>
    new WebAssembly.Module(new Uint8Array(Buffer.from(modules[name] ?? "", "base64")));
  const { execute } = await instantiate(compile, Object.create(null));
  const output = await execute(input);
  if (typeof output === "string") return { success: true, output };
  const error = "execute is no func(input: string) -> result<string, string>";
  return { success: false, error_kind: "invalid", error };
}

function answerOf(error: unknown): AnswerMessage {
  const payload = payloadOf(error);
  if (typeof payload === "string") return { success: false, error_kind: "exit", error: payload };
  return { success: false, ...failureOf(error) };
}

const request = JSON.parse(readFileSync(0, "utf8")) as ComponentRequest;
const began = performance.now();
const answer = await run(request).catch(answerOf);
const limit = request.resource_limits.max_output_bytes;
const isTooLong = answer.output !== undefined && Buffer.byteLength(answer.output) > limit;
const tooLong: AnswerMessage = {
  success: false,
  error_kind: "limit",
  limit: "output",
  error: `the output is over ${limit} bytes`,
};
writeAll(
  JSON.stringify({ ...(isTooLong ? tooLong : answer), duration_ms: performance.now() - began }),
);
