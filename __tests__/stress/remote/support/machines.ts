/** A broker, workers and callers, each in a process of its own, for one lane of rounds. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

import {
  type NatsServer,
  startNatsServer,
} from "../../../integration/remote/support/nats-server.js";
import { kNodeInside } from "../../../integration/support/node-arguments.js";
import { plainEnvironment } from "../../../integration/support/requirements.js";
import { tempDirectory } from "../../../integration/support/temp.js";
import { eventually } from "../../../support/waits.js";
import { type CallerLine, type Circumstances, judge, readCounter, type Verdict } from "./judge.js";
import { kScript } from "./script.js";

const kMain = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));
const kCaller = fileURLToPath(new URL("../hosts/caller.mjs", import.meta.url));

/** One call of a caller's plan; see hosts/caller.mjs. */
export type PlannedRun = {
  id: number;
  kind: "exec" | "live" | "input" | "flood" | "spawn";
  /** Each lasts 100 ms. */
  steps: number;
  afterMs?: number;
  bytes?: number;
  everyMs?: number;
  input?: object;
};

const processes = new Set<ChildProcess>();
afterAll(async () => {
  const alive = [...processes].filter((each) => each.exitCode === null && each.signalCode === null);
  await Promise.all(
    alive.map(async (each) => {
      const gone = once(each, "close");
      each.kill("SIGKILL");
      await gone;
    }),
  );
});

/** A process of ours, and what it writes. */
export class Machine {
  readonly process: ChildProcess;
  readonly gone: Promise<void>;
  out = "";
  err = "";

  constructor(words: readonly string[], input = "") {
    const [program = "", ...args] = words;
    this.process = spawn(program, args, { env: plainEnvironment(), stdio: "pipe" });
    processes.add(this.process);
    this.process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
    });
    this.process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.err += text;
    });
    this.process.stdin?.on("error", () => {}).end(input);
    this.gone = once(this.process, "close").then(() => {
      processes.delete(this.process);
    });
  }

  /** Waits for what it writes. */
  async until(isSo: () => boolean, what: string): Promise<void> {
    await eventually(
      () => `it is ${what}: ${this.out}${this.err}`,
      () => {
        if (isSo()) return true;
        const isGone = this.process.exitCode !== null || this.process.signalCode !== null;
        if (isGone) throw new Error(`not ${what}, it has ended: ${this.out}${this.err}`);
        return false;
      },
    );
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name);
  }

  async end(name: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.process.kill("SIGCONT");
    this.process.kill(name);
    await this.gone;
  }
}

/** A caller, and what it has told of its calls. */
export class CallerMachine extends Machine {
  get lines(): CallerLine[] {
    return this.out
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as CallerLine);
  }

  /** How many calls have been settled. */
  get settled(): number {
    return this.lines.filter(({ settled }) => settled !== undefined).length;
  }
}

let worlds = 0;

/** One lane: a broker, and who is connected to it. */
export class Machines {
  readonly directory: string;
  readonly workspaces: string;
  /** In the command line of all that runs for this lane, and of nothing else. */
  readonly marker = `native-runner-fault-${process.pid}-${++worlds}`;
  readonly workers: Machine[] = [];
  broker: NatsServer | undefined;
  /** Where workers and callers find the broker, when it is not at its own address. */
  clientUrls: string[] | undefined;
  readonly #lateMs: () => number;
  #rounds = 0;

  /** `lateMs`: how late this machine was with what was due, at most, since the round began. */
  constructor({ directory = tempDirectory("faults"), lateMs = (): number => 0 } = {}) {
    this.directory = directory;
    this.#lateMs = lateMs;
    this.workspaces = join(directory, "workspaces");
    mkdirSync(this.workspaces);
  }

  async startBroker(config = "", port?: number): Promise<NatsServer> {
    this.broker = await startNatsServer(config, port === undefined ? {} : { port });
    return this.broker;
  }

  get urls(): string[] {
    return this.clientUrls ?? [this.broker?.url ?? ""];
  }

  /** As an operator would start it, on this machine's loopback. `before` is put in front of its command line. */
  async startWorker(
    name: string,
    { slots = 8, urls = this.urls, before = [] as string[], words = ["--insecure"] } = {},
  ): Promise<Machine> {
    const servers = urls.flatMap((url) => ["--server", url]);
    const place = ["--pool", "faults", "--workspaces", this.workspaces];
    const own = ["--name", name, "--slots", String(slots)];
    const worker = new Machine([
      ...before,
      ...kNodeInside,
      kMain,
      "worker",
      ...servers,
      ...words,
      ...place,
      ...own,
    ]);
    this.workers.push(worker);
    await worker.until(() => worker.err.includes("serves the pool"), "serving");
    return worker;
  }

  /** The worker is gone; one in its place. */
  forget(worker: Machine): void {
    this.workers.splice(this.workers.indexOf(worker), 1);
  }

  /** A workspace of its own for one round, or one caller. */
  workspace(): string {
    this.#rounds += 1;
    const workspace = join(this.workspaces, `round${this.#rounds}`);
    mkdirSync(workspace);
    return workspace;
  }

  startCaller(
    runs: readonly PlannedRun[],
    {
      workspace = this.workspace(),
      options = {},
      urls = this.urls,
      marker = this.marker,
      before = [] as string[],
    } = {},
  ): CallerMachine & { workspace: string } {
    const asked = { servers: urls, insecure: true, pool: "faults", workspace, ...options };
    const plan = { options: asked, runs, script: kScript, marker };
    const caller = new CallerMachine([...before, ...kNodeInside, kCaller], JSON.stringify(plan));
    return Object.assign(caller, { workspace });
  }

  /** All that has this lane's mark in its command line. */
  processesOfRuns(): string[] {
    const found: string[] = [];
    for (const name of readdirSync("/proc")) {
      if (!/^[0-9]+$/.test(name)) continue;
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0");
        if (words.includes(this.marker)) found.push(`${name}: ${words.slice(0, 3).join(" ")}`);
      } catch {
        // it has gone meanwhile
      }
    }
    return found;
  }

  /** Starts and steps of a caller's runs, as they wrote them down. */
  counted({ workspace }: { workspace: string }): ReturnType<typeof readCounter> {
    try {
      return readCounter(readFileSync(join(workspace, "counter"), "utf8"));
    } catch {
      return new Map(); // nothing was started
    }
  }

  /** What is wrong with a round that is over; waits until nothing of its runs is left. */
  async verdict(
    caller: CallerMachine & { workspace: string },
    circumstances: Circumstances,
  ): Promise<Verdict> {
    const from = performance.now();
    let left = this.processesOfRuns();
    while (left.length > 0 && performance.now() - from < 20_000) {
      await delay(100);
      left = this.processesOfRuns();
    }
    const reported = { lateMs: this.#lateMs(), ...circumstances };
    const verdict = judge(caller.lines, this.counted(caller), reported);
    for (const each of left) verdict.complaints.push(`a process is left: ${each}`);
    if (caller.err !== "") verdict.complaints.push(`the caller wrote: ${caller.err}`);
    for (const worker of this.workers) {
      if (/reader closed|Error|at .*\.js:/.test(worker.err + worker.out)) {
        verdict.complaints.push(`a worker wrote: ${worker.out}${worker.err}`);
      }
    }
    return verdict;
  }

  async end(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.end()));
    await this.broker?.stop("SIGKILL");
  }
}
