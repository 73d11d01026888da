/** The terminator's thread: takes connections over from the supervisor, and serves them for the runs that they are of. */

import { Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

import type { AskedRequest, FromTerminator, Told, ToTerminator } from "../messages.js";
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

type Answer = Extract<ToTerminator, { question: number }>;
/** What waits for the answers to questions. */
const questions = new Map<number, (answer: Answer) => void>();
let lastQuestion = 0;

function asked(put: (question: number) => void): Promise<Answer> {
  lastQuestion += 1;
  const question = lastQuestion;
  return new Promise((resolve) => {
    questions.set(question, resolve);
    put(question);
  });
}

async function ask(run: number, name: string) {
  const answer = await asked((question) => say({ kind: "ask", run, name, question }));
  if (answer.kind !== "value") throw new Error("there is no value");
  return answer;
}

async function askRequest(run: number, request: AskedRequest): Promise<boolean> {
  const answer = await asked((question) => say({ kind: "askRequest", run, request, question }));
  return answer.kind === "verdict" && answer.isAllowed;
}

function begin({
  run,
  runner,
  secrets,
  rules,
  asks,
}: Extract<ToTerminator, { kind: "begin" }>): void {
  const report = new Report(run);
  const made = desks.get(runner)?.then(
    (desk) =>
      new RunDesk(desk, {
        secrets,
        rules,
        ask: (name) => ask(run, name),
        ...(asks && { askRequest: (request) => askRequest(run, request) }),
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
    case "noValue":
    case "verdict":
      questions.get(message.question)?.(message);
      questions.delete(message.question);
  }
}
port.on("message", take);

async function serve(line: string): Promise<void> {
  const [clientNumber, hostNumber, run, hostPort, via, name = ""] = line.split(" ");
  const client = new Socket({ fd: Number(clientNumber) });
  const host = new Socket({ fd: Number(hostNumber) });
  for (const socket of [client, host]) socket.on("error", () => socket.destroy());
  try {
    const desk = await runs.get(Number(run))?.desk;
    if (desk === undefined) throw new Error("the run has ended");
    const arrived = { client, host, name, port: Number(hostPort) };
    await serveConnection(desk, { ...arrived, via: via as AskedRequest["via"] });
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
  for (const line of lines) serve(line).catch(() => {}); // its descriptors are no sockets
});
channel.on("error", () => channel.destroy());
