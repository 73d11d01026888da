/** Runs the demo as its users do: node examples/demo-node/main.js, with a scripted model. */

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

import { tempDirectory } from "../../support/temp.js";
import { type Call, type Request, startScriptedModel, type Turn } from "./scripted-model.mjs";

export type { Call, Request, Turn };

export const kMain = join(import.meta.dirname, "../../../../examples/demo-node/main.js");

export const kBwrap = { OPENAGENTIC_PROCESS_SANDBOX: "bwrap" };

type DemoOptions = {
  project: string;
  turns: Parameters<typeof startScriptedModel>[0];
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** Standard input, and its end; it stays open with null. */
  input?: string | null;
};

/** This process's environment, but for what selects sandboxes and models. */
export function demoEnvironment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(OPENAI|OPENAGENTIC|ZEPTOCLAW)_/.test(name) || name === "OPENAGENTIC_NATIVE_RUNNER_PRESET",
  );
  return { ...Object.fromEntries(kept), NO_COLOR: "1", ...own };
}

/** Where the demo keeps its transactions, for this XDG_STATE_HOME. */
export const transactionsBelow = (state: string) => join(state, "openagentic/transactions");

function transactionsIn(state: string): string[] {
  const directory = transactionsBelow(state);
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Starts it; `stop` is needed only where `ended` is not awaited. */
export async function startDemo(options: DemoOptions) {
  const { project, turns, args = [], env = {}, input = "" } = options;
  const model = await startScriptedModel(turns);
  const temp = tempDirectory("demo-tmp");
  const state = tempDirectory("demo-state");
  const child = spawn(process.execPath, [kMain, "--project", project, ...args], {
    cwd: temp,
    env: demoEnvironment({
      TMPDIR: temp,
      XDG_STATE_HOME: state,
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "sk-of-the-user",
      ...env,
    }),
  });
  child.stdin.on("error", () => {});
  if (input !== null) child.stdin.end(input);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk;
  });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const ended = closed.then(async (code) => {
    await model.close();
    // What the demo put into the temporary directory must go with it, and so must its transaction.
    const files = readdirSync(temp).filter((name) => !name.startsWith("node-compile-cache"));
    const left = [...files, ...transactionsIn(state)];
    return { code, out, err, left, answers: model.answers(), requests: model.requests, state };
  });
  return { child, ended, said: () => out + err };
}

export async function runDemo(options: DemoOptions) {
  const demo = await startDemo(options);
  return demo.ended;
}

/** One request that goes well, and leaves nothing behind. */
export async function runOnce(options: DemoOptions) {
  const { args = [], ...rest } = options;
  const run = await runDemo({ ...rest, args: ["--once", "do it", ...args] });
  expect({ code: run.code, err: run.code === 0 ? "" : run.err, left: run.left }).toEqual({
    code: 0,
    err: "",
    left: [],
  });
  return run;
}
