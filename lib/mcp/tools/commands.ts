import * as v from "valibot";

import type { SandboxedExecResult } from "../../../types/public.js";
import { commentsHint } from "../comments.js";
import type { LiveProcess } from "../processes.js";
import type { Link } from "../sandbox.js";
import { type Answer, defineTool, type ToolContext } from "../tool.js";
import { outcomeWords, shortened, textOf } from "../words.js";
import { commandOf, grantsOf, kCommandFields, reportedDenials } from "./command-input.js";

const kDefaultShown = 16 * 1024;
const kMostShown = 256 * 1024;
const kMostMessage = 2048;

/** Fields of an answer for denials. */
const kDenialFields = {
  denials: v.pipe(
    v.array(
      v.object({
        kind: v.picklist([
          "read",
          "write",
          "exec",
          "connect",
          "resolve",
          "request",
          "secret",
          "other",
        ]),
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

const output = v.object({
  outcome: v.pipe(v.string(), v.description('"exited", "timed-out", "signaled" …')),
  exitCode: v.number(),
  stdout: v.string(),
  stderr: v.string(),
  stdoutBytes: v.pipe(v.number(), v.description("All that was written.")),
  stderrBytes: v.number(),
  truncated: v.pipe(v.boolean(), v.description("Not all of the output is here.")),
  durationMs: v.number(),
  ...kDenialFields,
});

type Output = "stdout" | "stderr";

/** Returns a stream for an answer, with links to the rest. */
function reported(result: SandboxedExecResult, stream: Output, most: number, keep: () => Link[]) {
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

/** Leaves out the line of standard error that says why nothing ran, which the outcome says too. */
function unsaid(stderr: string, reason: string | undefined): string {
  return reason === undefined ? stderr : stderr.replace(`native-runner: ${reason}\n`, "");
}

function progressOf(context: ToolContext) {
  return (chunk: Uint8Array) => context.progress(textOf(chunk.subarray(-kMostMessage)));
}

export const run = defineTool({
  name: "run",
  title: "Run a command in the sandbox",
  description:
    "Runs a command to its end and returns what it wrote. It sees the workspace and the system's programs, and what it changes waits in a transaction: the real files change by `commit` alone. While a process that `start` began runs, commands share its loopback network: ask a server at 127.0.0.1. What takes longer than a minute is better begun with `start`.",
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
    destructiveHint: false, // changes wait in the transaction
    idempotentHint: false,
    openWorldHint: true, // if the operator allows network access
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
      reported(result, stream, most, () => sandbox.outputs.keep(id, stream, result[stream]));
    const [stdout, stderr] = [streamOf("stdout"), streamOf("stderr")];
    const denials = reportedDenials(result.denials, context);
    const words = outcomeWords(result, {
      timeoutMs: command.limits.timeoutMs,
      mostMs: sandbox.policy.limits?.timeoutMs,
    });
    const { outcome, exitCode, stdoutBytes, stderrBytes } = result;
    const reason = outcome.kind === "setup-failed" ? outcome.reason : undefined;
    const [audit] = result.audits;
    const hint = await commentsHint(sandbox);
    return {
      text: [stdout.text, unsaid(stderr.text, reason), words && `[${words}]`, denials.text, hint]
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
        denials: denials.reported,
      },
      links: [...stdout.links, ...stderr.links],
    };
  },
});

export const start = defineTool({
  name: "start",
  title: "Start a command that goes on",
  description:
    "Starts a command and returns at once; `read` gives its output, `stop` ends it. It ends with the server, and when changes are committed, rolled back or discarded. `run` reaches what it serves at 127.0.0.1.",
  input: v.strictObject({
    ...kCommandFields,
    port: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(1),
        v.maxValue(65_535),
        v.description("Where it will listen; gives a URL."),
      ),
    ),
  }),
  output: v.object({
    process: v.pipe(v.string(), v.description("For `read` and `stop`.")),
    url: v.optional(v.string()),
  }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  },
  call: async (input, context) => {
    const { sandbox } = context;
    sandbox.processes.expectRoom();
    const question = await grantsOf(input, context);
    if (question !== undefined) return question;
    const { argv, cwd, env, explain, limits } = commandOf(input, context);
    const { maxStdoutBytes: _, maxStderrBytes: __, keep: ___, ...rest } = limits;
    const timeoutMs = input.timeoutMs === undefined ? undefined : rest.timeoutMs;
    const started = await sandbox.start(
      { argv, cwd, env, explain, limits: { ...rest, timeoutMs }, stderr: "merge" },
      input.port,
    );
    const { process, url } = started;
    const where = url && `; what listens on its port ${input.port} is at ${url} on this machine`;
    return { text: `started as process ${process}${where ?? ""}`, structured: started };
  },
});

/** The answer of `read` and `stop`. */

const processOutput = v.object({
  process: v.string(),
  running: v.boolean(),
  output: v.pipe(v.string(), v.description("What it has written since the last look.")),
  droppedBytes: v.pipe(v.number(), v.description("Older output, not read in time.")),
  outcome: v.optional(v.string()),
  exitCode: v.optional(v.number()),
  ...kDenialFields,
});

/** Returns the state and the new output of a process. */
function processAnswer(
  process: LiveProcess,
  context: ToolContext,
): Answer<v.InferOutput<typeof processOutput>> {
  const { ended, id } = process;
  const { output, droppedBytes } = process.take();
  const denials = reportedDenials(ended?.denials ?? [], context);
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
      denials: denials.reported,
    },
  };
}

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
    destructiveHint: false, // changes stay in the transaction
    idempotentHint: true,
    openWorldHint: false,
  },
  call: async (input, context) => {
    const process = context.sandbox.processes.find(input.process);
    await process.stop();
    return processAnswer(process, context);
  },
});
