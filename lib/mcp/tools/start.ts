import * as v from "valibot";

import { defineTool } from "../tool.js";
import { commandOf, grantsOf, kCommandFields } from "./command-input.js";

export const start = defineTool({
  name: "start",
  title: "Start a command that goes on",
  description:
    "Starts a command in the sandbox and returns at once; `read` gives what it writes, `stop` ends it. It ends with the server, and when changes are committed, rolled back or discarded. It has processes and a loopback network of its own: other commands can't reach a server that it is.",
  input: v.strictObject(kCommandFields),
  output: v.strictObject({
    process: v.pipe(v.string(), v.description("For `read` and `stop`.")),
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
    const process = await sandbox.start({
      argv,
      cwd,
      env,
      explain,
      limits: { ...rest, timeoutMs },
      stderr: "merge",
    });
    return { text: `started as process ${process}`, structured: { process } };
  },
});
