import * as v from "valibot";

import { defineTool } from "../tool.js";
import { processAnswer, processOutput } from "./process-answer.js";

const kDefaultWait = 1000;
const kLongestWait = 45_000; // clients give up after a minute

export const read = defineTool({
  name: "read",
  title: "Read what a started command writes",
  description:
    "Returns what a command that `start` began has written since the last look, and whether it still runs. Waits for something new, but no longer than waitMs.",
  input: v.strictObject({
    process: v.pipe(v.string(), v.description('As `start` gave it: "p1".')),
    waitMs: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(kLongestWait),
        v.description(`Milliseconds to wait for something new. Default ${kDefaultWait}.`),
      ),
    ),
  }),
  output: processOutput,
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async (input, context) => {
    const process = context.sandbox.processes.find(input.process);
    await process.wait(input.waitMs ?? kDefaultWait, context.signal);
    return processAnswer(process, context);
  },
});
