/** What `read` and `stop` answer. */

import * as v from "valibot";

import { toldDenials } from "../denial-words.js";
import { outcomeWords } from "../outcome-words.js";
import type { LiveProcess } from "../processes.js";
import { textOf } from "../text-parts.js";
import type { Answer, ToolContext } from "../tool.js";
import { kDenialFields } from "./run.js";

export const processOutput = v.strictObject({
  process: v.string(),
  running: v.boolean(),
  output: v.pipe(v.string(), v.description("What it has written since the last look.")),
  droppedBytes: v.pipe(v.number(), v.description("Older output that nobody has read in time.")),
  outcome: v.optional(v.string()),
  exitCode: v.optional(v.number()),
  ...kDenialFields,
});

/** All that is new of a process. */
export function processAnswer(
  process: LiveProcess,
  context: ToolContext,
): Answer<v.InferOutput<typeof processOutput>> {
  const { ended, id } = process;
  const { output, droppedBytes } = process.take();
  const denials = toldDenials(ended?.denials ?? [], context);
  const dropped = droppedBytes > 0 ? `[${droppedBytes} bytes before this were dropped]` : "";
  const words =
    ended === undefined ? "it runs" : `it has ended: ${outcomeWords(ended) || "exit code 0"}`;
  const text = textOf(output);
  return {
    text: [dropped, text, `[${words}]`, denials.text].filter((part) => part !== "").join("\n"),
    structured: {
      process: id,
      running: ended === undefined,
      output: text,
      droppedBytes,
      ...(ended && { outcome: ended.outcome.kind, exitCode: ended.exitCode }),
      denials: denials.told,
    },
  };
}
