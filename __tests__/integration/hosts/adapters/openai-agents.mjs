// A loop of OpenAI's agents SDK against a scripted endpoint of responses, in a transaction.
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, shellTool } from "@openai/agents";

import { createSandboxShell } from "../../../../dist/adapters/openai-agents.js";
import { tell } from "./work.mjs";

setTracingDisabled(true);

const message = (text) => ({
  ...{ type: "message", id: "msg_1", role: "assistant", status: "completed" },
  content: [{ type: "output_text", text, annotations: [] }],
});
const shellCall = (number, commands, action = {}) => ({
  ...{ type: "shell_call", id: `sh_${number}`, call_id: `call_${number}`, status: "completed" },
  action: { commands, timeout_ms: null, max_output_length: null, ...action },
});

/** One output for each request; what it was sent is kept. */
async function startResponses(outputs) {
  const rest = [...outputs];
  const requests = [];
  const server = createServer(async (incoming, response) => {
    requests.push(await json(incoming));
    const output = rest.shift() ?? message("the script is over");
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        ...{ id: `resp_${requests.length}`, object: "response", created_at: 0, model: "m" },
        ...{ status: "completed", output: [output], usage: null },
      }),
    );
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}/v1`, requests, close };
}

await tell(async ({ runner, directory, read }) => {
  const scripted = await startResponses([
    shellCall(1, ["echo new > file; echo said", "cat file; echo err >&2; exit 3"]),
    shellCall(2, ["sleep 1000", "echo never"], { timeout_ms: 200 }),
    shellCall(3, ["seq 1 100000"], { max_output_length: 20 }),
    message("done"),
  ]);
  const transaction = await runner.openTransaction({ directory });
  const shell = createSandboxShell(transaction, { limits: { timeoutMs: 30_000 } });
  const modelProvider = new OpenAIProvider({
    ...{ apiKey: "none", baseURL: scripted.url, useResponses: true },
  });
  const agent = new Agent({ name: "a", model: "m", tools: [shellTool({ shell })] });
  const { finalOutput } = await new Runner({ modelProvider }).run(agent, "do it");
  const outputs = (scripted.requests.at(-1)?.input ?? []).filter(
    ({ type }) => type === "shell_call_output",
  );
  const changes = await transaction.changes();
  await transaction.discard();
  await scripted.close();
  return {
    ...{ finalOutput, before: read("file") },
    changes: changes.map(({ path }) => path),
    outputs: outputs.map(({ output }) => output),
  };
});
