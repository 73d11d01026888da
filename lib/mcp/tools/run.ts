import * as v from "valibot";

import type { SandboxedExecResult } from "../../../types/public.js";
import { toldDenials } from "../denial-words.js";
import { outcomeWords } from "../outcome-words.js";
import { shortened, textOf } from "../text-parts.js";
import { defineTool, type Link, type ToolContext } from "../tool.js";
import { commandOf, grantsOf, kCommandFields } from "./command-input.js";

const kDefaultShown = 16 * 1024;
const kMostShown = 256 * 1024;
const kMostMessage = 2048;

/** Fields of an answer that is about denials. */
export const kDenialFields = {
  denials: v.pipe(
    v.array(
      v.strictObject({
        kind: v.picklist(["read", "write", "exec", "connect", "resolve", "other"]),
        what: v.string(),
        by: v.string(),
        count: v.number(),
        grant: v.optional(v.string()),
        option: v.optional(v.string()),
        notAdvised: v.optional(v.string()),
      }),
    ),
    v.description("What the sandbox has refused, and what would allow it."),
  ),
};

const output = v.strictObject({
  outcome: v.pipe(v.string(), v.description('"exited", "timed-out", "signaled" …')),
  exitCode: v.number(),
  stdout: v.string(),
  stderr: v.string(),
  stdoutBytes: v.pipe(v.number(), v.description("All that was written.")),
  stderrBytes: v.number(),
  truncated: v.pipe(v.boolean(), v.description("Whether stdout or stderr here is not all of it.")),
  durationMs: v.number(),
  ...kDenialFields,
});

type Output = "stdout" | "stderr";

/** A stream as it is told, and links to the rest. */
function told(result: SandboxedExecResult, stream: Output, most: number, keep: () => Link[]) {
  const bytes = result[stream];
  const links = bytes.length > most ? keep() : [];
  const dropped = result[`${stream}Bytes`] - bytes.length;
  const where = links.length > 0 ? "; the resources linked have them" : "";
  const lost =
    dropped > 0
      ? `\n[${dropped} bytes of ${stream} were not kept: the first and the last are]`
      : "";
  return {
    text: `${shortened(bytes, most, where)}${lost}`,
    links,
    isCut: links.length > 0 || dropped > 0,
  };
}

function progressOf(context: ToolContext) {
  return (chunk: Uint8Array) => context.progress(textOf(chunk.subarray(-kMostMessage)));
}

export const run = defineTool({
  name: "run",
  title: "Run a command in the sandbox",
  description:
    "Runs a command to its end and returns what it wrote. It sees the workspace (at /workspace) and the system's programs, and what it changes waits in a transaction: the real files change by `commit` alone. Each command has processes and a loopback network of its own: to test a server, start it and ask it within one command. What takes longer than a minute is better begun with `start`.",
  input: v.strictObject({
    ...kCommandFields,
    stdin: v.optional(v.pipe(v.string(), v.description("Standard input. Default: none."))),
    maxOutputBytes: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(kMostShown),
        v.description(
          `How much of each stream to return. Default ${kDefaultShown}; links lead to the rest.`,
        ),
      ),
    ),
  }),
  output,
  annotations: {
    readOnlyHint: false,
    destructiveHint: false, // what it changes waits
    idempotentHint: false,
    openWorldHint: true, // where the operator lets it reach the network
  },
  call: async (input, context) => {
    const question = await grantsOf(input, context);
    if (question !== undefined) return question;
    const { sandbox } = context;
    const command = commandOf(input, context);
    const result = await sandbox.exec({
      ...command,
      limits: { ...command.limits, keep: "head+tail" },
      stdin: input.stdin,
      signal: context.signal,
      onStdout: progressOf(context),
      onStderr: progressOf(context),
    });
    const most = input.maxOutputBytes ?? kDefaultShown;
    const id = sandbox.outputs.next();
    const streamOf = (stream: Output) =>
      told(result, stream, most, () => sandbox.outputs.keep(id, stream, result[stream]));
    const [stdout, stderr] = [streamOf("stdout"), streamOf("stderr")];
    const denials = toldDenials(result.denials, context);
    const words = outcomeWords(result);
    const { outcome, exitCode, stdoutBytes, stderrBytes } = result;
    const [audit] = result.audits;
    return {
      text: [stdout.text, stderr.text, words && `[${words}]`, denials.text]
        .filter((part) => part !== "")
        .join("\n"),
      structured: {
        outcome: outcome.kind,
        exitCode,
        stdout: stdout.text,
        stderr: stderr.text,
        stdoutBytes,
        stderrBytes,
        truncated: stdout.isCut || stderr.isCut,
        durationMs: Math.round(audit?.durationMs ?? 0),
        denials: denials.told,
      },
      links: [...stdout.links, ...stderr.links],
    };
  },
});
