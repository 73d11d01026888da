#!/usr/bin/env node
/**
 * demo-node: a small agent host. Sets process.exitCode and lets the event loop run out, so that all
 * output is flushed.
 * @module
 */

import { SandboxError } from "@openagentic/native-runner";
import { CommanderError } from "commander";

import { codeOf, Failure } from "./failure.js";
import { serviceFailure } from "./model/conversation.js";
import { createProgram } from "./program.js";
import { Session } from "./session.js";
import { askAtTerminal } from "./terminal/ask.js";
import { Repl } from "./terminal/repl.js";

/** @typedef {import("./program.js").DemoOptions} DemoOptions */

const kSignals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
const kInterrupted = 130;
const kMisuse = 2;

/** @param {string} message */
function complain(message) {
  const isNamed = message.startsWith("demo-node: ");
  process.stderr.write(`${isNamed ? "" : "demo-node: "}${message}\n`);
}

/**
 * What went wrong, in words.
 * @param {unknown} error
 * @returns {string}
 */
function explain(error) {
  if (error instanceof Failure) return error.message;
  const service = serviceFailure(error);
  if (service !== undefined) return service;
  if (error instanceof SandboxError) {
    return [error.message, error.fix].filter(Boolean).join("\nfix: ");
  }
  if (error instanceof Error && codeOf(error) !== undefined) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Says what went wrong.
 * @param {unknown} error
 * @returns {number} the exit code for it
 */
function report(error) {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : kMisuse; // it said so itself
  complain(explain(error));
  return error instanceof Failure ? error.exitCode : 1;
}

/**
 * @param {DemoOptions & { once: string }} options
 * @param {Session} session
 * @param {AbortSignal} signal
 */
async function runOnce({ once, commit }, session, signal) {
  await session.ask(once, signal);
  if (!commit) await session.showChanges("--commit writes them");
  else if (!(await session.commit())) {
    session.keepChanges();
    process.exitCode = 1;
  }
}

/** @param {DemoOptions} options */
async function main(options) {
  const interrupt = new AbortController();
  for (const name of kSignals) process.once(name, () => interrupt.abort());
  // A reader that goes away (| head) is as good as an interrupt.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", () => interrupt.abort());
  }
  const { signal } = interrupt;
  if (options.mcp) {
    const { serveMcp } = await import("./mcp/serve.js"); // which loads the SDK
    await serveMcp(options, process.env, signal);
    if (signal.aborted) process.exitCode = kInterrupted;
    return;
  }
  const session = await Session.open(options, process.env, {
    in: process.stdin,
    out: process.stdout,
    err: process.stderr,
  });
  try {
    const { once } = options;
    if (once === undefined) await new Repl(session, report, explain).run(signal);
    else {
      if (process.stdin.isTTY) session.askBy(askAtTerminal);
      await runOnce({ ...options, once }, session, signal);
    }
  } finally {
    if (signal.aborted) process.exitCode = kInterrupted;
    await session.close();
  }
}

try {
  await createProgram(process.env).action(main).parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
