/** The terminator's thread: takes connections over from the supervisor, and serves them for the runs that they are of. */

import { Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

import type { FromTerminator, Told, ToTerminator } from "../messages.js";
import { Authority } from "./authority.js";
import { serveConnection } from "./connection.js";
import { Desk, RunDesk } from "./desk.js";

const port = parentPort;
if (port === null) throw new Error("native-runner: the terminator runs in a thread of its own");
const say = (message: FromTerminator) => port.postMessage(message);

const desks = new Map<number, Promise<Desk>>();

/** What is told of a run's requests, many at a time. */
class Report {
  readonly #run: number;
  #waiting: Told[] = [];

  constructor(run: number) {
    this.#run = run;
  }

  add(told: Told): void {
    this.#waiting.push(told);
    // At once if it may end the run.
    if (told.isMisuse) this.flush();
    else if (this.#waiting.length === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    const told = this.#waiting;
    this.#waiting = [];
    if (told.length > 0) say({ kind: "told", run: this.#run, told });
  }
}

type Run = { desk: Promise<RunDesk | undefined>; report: Report };
const runs = new Map<number, Run>();

type Waiting = {
  resolve: (value: { value: string; expiresMs: number | undefined }) => void;
  reject: (error: Error) => void;
};
const questions = new Map<number, Waiting>();
let lastQuestion = 0;

function ask(run: number, name: string) {
  lastQuestion += 1;
  const question = lastQuestion;
  return new Promise<{ value: string; expiresMs: number | undefined }>((resolve, reject) => {
    questions.set(question, { resolve, reject });
    say({ kind: "ask", run, name, question });
  });
}

function begin({ run, runner, secrets, rules }: Extract<ToTerminator, { kind: "begin" }>): void {
  const report = new Report(run);
  const made = desks.get(runner)?.then(
    (desk) =>
      new RunDesk(desk, {
        secrets,
        rules,
        ask: (name) => ask(run, name),
        tell: (told) => report.add(told),
      }),
    () => undefined,
  );
  runs.set(run, { desk: made ?? Promise.resolve(undefined), report });
}

async function flush({ run, flush: number, ends }: Extract<ToTerminator, { kind: "flush" }>) {
  const found = runs.get(run);
  if (found !== undefined) {
    const desk = await found.desk;
    if (ends) {
      runs.delete(run);
      desk?.end();
    }
    found.report.flush();
  }
  say({ kind: "flushed", flush: number });
}

function take(message: ToTerminator): void {
  switch (message.kind) {
    case "runner": {
      const { runner, roots } = message;
      const made = Authority.make().then((authority) => new Desk(authority, roots));
      desks.set(runner, made);
      made.then(
        ({ authority }) => say({ kind: "authority", runner, pem: authority.pem }),
        (error: Error) => say({ kind: "failed", runner, reason: error.message }),
      );
      return;
    }
    case "forget":
      desks.delete(message.runner);
      return;
    case "begin":
      begin(message);
      return;
    case "flush":
      void flush(message);
      return;
    case "value":
    case "noValue": {
      const waiting = questions.get(message.question);
      questions.delete(message.question);
      if (message.kind === "value") waiting?.resolve(message);
      else waiting?.reject(new Error("there is no value"));
    }
  }
}
port.on("message", take);

async function serve(line: string): Promise<void> {
  const [clientNumber, hostNumber, run, hostPort, name = ""] = line.split(" ");
  const client = new Socket({ fd: Number(clientNumber) });
  const host = new Socket({ fd: Number(hostNumber) });
  try {
    const desk = await runs.get(Number(run))?.desk;
    if (desk === undefined) throw new Error("the run has ended");
    await serveConnection(desk, { client, host, name, port: Number(hostPort) });
  } catch {
    client.destroy();
    host.destroy();
  }
}

let text = "";
const channel = new Socket({ fd: (workerData as { end: number }).end });
channel.setEncoding("latin1").on("data", (chunk: string) => {
  const lines = (text + chunk).split("\n");
  text = lines.pop() ?? "";
  for (const line of lines) void serve(line);
});
channel.on("error", () => channel.destroy());
