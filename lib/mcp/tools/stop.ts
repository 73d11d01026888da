import * as v from "valibot";

import { defineTool } from "../tool.js";
import { processAnswer, processOutput } from "./process-answer.js";

export const stop = defineTool({
  name: "stop",
  title: "Stop a started command",
  description:
    "Ends a command that `start` began, with all its processes, and returns its last output.",
  input: v.strictObject({
    process: v.pipe(v.string(), v.description('As `start` gave it: "p1".')),
  }),
  output: processOutput,
  annotations: {
    readOnlyHint: false,
    destructiveHint: false, // what it has changed stays
    idempotentHint: true,
    openWorldHint: false,
  },
  call: async (input, context) => {
    const process = context.sandbox.processes.find(input.process);
    await process.stop();
    return processAnswer(process, context);
  },
});
