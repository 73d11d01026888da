/** The kinds of runs of a Bubblewrap runner: what holds for one of them, holds for each. */

import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type SandboxedExecResult,
} from "./package.js";
import { tempDirectory } from "./temp.js";

export type Options = Partial<BubblewrapNativeRunnerOptions>;
export type Told = {
  out: string;
  kind: string;
  reason?: string | undefined;
  start?: string | undefined;
};
/** One way of running a command, and what ends it. */
export type Way = { exec: (script: string) => Promise<Told>; close: () => Promise<unknown> };

export const sh = (script: string) => ({ argv: ["sh", "-c", script], stderr: "merge" as const });

export const told = (result: SandboxedExecResult): Told => ({
  out: result.stdoutText,
  kind: result.outcome.kind,
  reason: result.outcome.kind === "setup-failed" ? result.outcome.reason : undefined,
  start: result.audits[0]?.start,
});

export function runnerOf(options: Options): BubblewrapNativeRunner {
  const own = { shadowDir: tempDirectory(), prewarm: 0, clone: "never" } as const;
  return new BubblewrapNativeRunner({ ...own, ...options });
}

export function running(runner: BubblewrapNativeRunner): Way {
  const exec = async (script: string) => told(await runner.exec(sh(script)));
  return { exec, close: () => runner.close() };
}

/** What runs commands, but for a batch. */
type Runs = Pick<BubblewrapNativeRunner, "exec" | "openSession" | "spawn">;
type Make = (runs: Runs) => Promise<Way["exec"]> | Way["exec"];

const run: Make = (runs) => async (script) => told(await runs.exec(sh(script)));

const session: Make = async (runs) => {
  const opened = await runs.openSession();
  return async (script) => told(await opened.exec(sh(script)));
};

const live: Make = (runs) => async (script) => {
  const process = await runs.spawn(sh(script));
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdout) chunks.push(chunk as Uint8Array);
  const { outcome } = await process.result;
  return { out: Buffer.concat(chunks).toString(), kind: outcome.kind };
};

async function inRunner(options: Options, make: Make): Promise<Way> {
  const runner = runnerOf(options);
  return { exec: await make(runner), close: () => runner.close() };
}

async function inTransaction(
  options: Options,
  {
    backend = "auto",
    isFork = false,
    make = run,
  }: { backend?: "auto" | "copy"; isFork?: boolean; make?: Make } = {},
): Promise<Way> {
  const runner = runnerOf(options);
  const opened = await runner.openTransaction({ backend, directory: tempDirectory("state") });
  const transaction = isFork ? await opened.fork() : opened;
  return {
    exec: await make(transaction),
    close: async () => {
      await transaction.discard();
      await runner.close();
    },
  };
}

async function untilStart(way: Way, start: string): Promise<Way> {
  for (let tries = 0; tries < 200; tries++) {
    if ((await way.exec("true")).start === start) return way;
  }
  throw new Error(`no run was ${start}`);
}

const kDomain = { allow: ["a.test"] };

const kWays: Record<string, (options: Options) => Promise<Way>> = {
  "a cold run": async (options) => running(runnerOf(options)),
  "a prewarmed run": async (options) => {
    const runner = runnerOf({ ...options, prewarm: 2 });
    await runner.warm();
    return untilStart(running(runner), "prewarmed");
  },
  "a clone": async (options) =>
    untilStart(running(runnerOf({ ...options, clone: "auto" })), "cloned"),
  "a session": (options) => inRunner(options, session),
  "a live process": (options) => inRunner(options, live),
  "a transaction": (options) => inTransaction(options),
  "a transaction by copy": (options) => inTransaction(options, { backend: "copy" }),
  "a fork": (options) => inTransaction(options, { isFork: true }),
  "a session of a transaction": (options) => inTransaction(options, { make: session }),
  "a live process of a transaction": (options) => inTransaction(options, { make: live }),
  "a network by domain": (options) => inRunner({ ...options, network: kDomain }, run),
  "a session with a network by domain": (options) =>
    inRunner({ ...options, network: kDomain }, session),
  "a transaction with a network by domain": (options) =>
    inTransaction({ ...options, network: kDomain }),
  "the host's network": async (options) => running(runnerOf({ ...options, network: "allow" })),
  "isolation compat": async (options) => running(runnerOf({ ...options, isolation: "compat" })),
  "Landlock inside": async (options) => running(runnerOf({ ...options, layers: ["landlock"] })),
  "no /proc": async (options) => running(runnerOf({ ...options, procBind: false })),
  "no /dev": async (options) => running(runnerOf({ ...options, devBind: false })),
  "no home": async (options) => running(runnerOf({ ...options, home: "none" })),
  "a kept home": async (options) => running(runnerOf({ ...options, home: "kept" })),
  "the workspace at its own path": async (options) =>
    running(runnerOf({ ...options, workspacePath: "same" })),
};
export const kWayNames = Object.keys(kWays);

export async function withWay<Value>(
  name: string,
  options: Options,
  work: (way: Way) => Promise<Value>,
): Promise<Value> {
  const way = await (kWays[name] as (typeof kWays)[string])(options);
  try {
    return await work(way);
  } finally {
    await way.close();
  }
}
