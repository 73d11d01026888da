// A loop of Vercel's AI SDK against the scripted model: a command, a commit that waits for an approval
// and gets it, and one that is refused.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { stepCountIs, streamText } from "ai";

import { createSandboxTools } from "../../../../dist/adapters/ai-sdk.js";
import { startScriptedModel } from "../../demo-node/support/scripted-model.mjs";
import { tell } from "./work.mjs";

const call = (name, input = {}) => ({ name, arguments: input });

await tell(async ({ runner, directory, read }) => {
  const scripted = await startScriptedModel([
    { calls: [call("run", { command: "echo new > file; echo said; exit 3" })] },
    { calls: [call("run", { comand: "true" }), call("run", { command: "cat file" })] },
    { calls: [call("commit")] },
    { text: "committed" },
    { calls: [call("run", { command: "echo newer > file" }), call("commit")] },
    { text: "refused" },
  ]);
  const model = createOpenAICompatible({ name: "scripted", baseURL: scripted.url })("m");
  const { tools, close } = createSandboxTools({ runner, transaction: { directory } });

  /** Goes on until the model has said something; each approval is answered by `approves`. */
  async function converse(messages, approves, meanwhile) {
    for (let round = 0; round < 5; round += 1) {
      const result = streamText({ model, tools, messages, stopWhen: stepCountIs(10) });
      await result.consumeStream();
      messages.push(...(await result.response).messages);
      const content = await result.content;
      const requests = content.filter(({ type }) => type === "tool-approval-request");
      if (requests.length === 0) return result.text;
      meanwhile();
      messages.push({
        role: "tool",
        content: requests.map(({ approvalId }) => ({
          ...{ type: "tool-approval-response", approvalId, approved: approves },
        })),
      });
    }
    throw new Error("the model does not come to an end");
  }

  const before = [];
  const look = () => before.push(read("file"));
  const messages = [{ role: "user", content: "do it" }];
  const first = await converse(messages, true, look);
  const committed = read("file");
  messages.push({ role: "user", content: "again" });
  const second = await converse(messages, false, look);
  const answers = scripted.answers();
  const said = { first, second, before, committed, after: read("file"), answers };
  const kept = await close();
  await scripted.close();
  return { ...said, kept: /^[0-9a-f]{12}$/.test(kept ?? "") };
});
