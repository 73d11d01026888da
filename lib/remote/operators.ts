/**
 * Operators list the workers of a broker, cordon them and drain them. The broker's permissions decide who is one, and a
 * worker takes the operator's name from the subject of a message. Both ends; each belongs to one JavaScript thread.
 */

import { randomBytes } from "node:crypto";
import * as v from "valibot";

import type { Connection, Received } from "./broker/connection.js";
import {
  fromWorkerToOperatorSubject,
  isToken,
  lastOf,
  listSubject,
  noWorkerSubject,
  operateSubject,
  operatorSubject,
} from "./subjects.js";
import { decodeFrames, encodeFrame, WireError } from "./wire/frame.js";

/** What an operator has a worker do. A drain ends its process; `cordon` lasts until `uncordon` or that end. */
export type Operation = "cordon" | "uncordon" | "drain";

const kMostText = 500;
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const token = v.custom<string>(isToken);

const kReport = v.object({
  t: v.literal("report"),
  ask: token,
  /** Number of the worker's process: two of one name are told apart by it. */
  process: token,
  /** Version of this package. */
  version: v.pipe(v.string(), v.maxLength(kMostText)),
  isDraining: v.boolean(),
  isCordoned: v.boolean(),
  /** Why it can make no sandbox. */
  unfit: v.optional(v.pipe(v.string(), v.maxLength(kMostText))),
  slots: count,
  /** Runs that it has, and callers that wait for a slot, of all tenants. */
  running: count,
  waiting: count,
  starts: count,
  /** Seconds since its start. */
  uptime: v.pipe(v.number(), v.minValue(0)),
});

const kQuestion = v.variant("t", [
  v.object({ t: v.literal("list"), ask: token }),
  v.object({
    t: v.literal("operate"),
    ask: token,
    what: v.picklist(["cordon", "uncordon", "drain"]),
  }),
]);

/** What a worker reports of itself. */
export type WorkerReport = Omit<v.InferOutput<typeof kReport>, "t" | "ask">;
/** A report with its sender, as the broker lets only that worker send it. */
export type ListedWorker = WorkerReport & { pool: string; name: string };

const messageOf = (header: { t: string }) => Buffer.concat(encodeFrame(header));

/** Returns the header of a message of one frame that fits; undefined for any other. */
function read<Schema extends v.GenericSchema>(
  schema: Schema,
  data: Uint8Array,
): v.InferOutput<Schema> | undefined {
  try {
    const [frame] = decodeFrames(data);
    const { success, output } = v.safeParse(schema, frame?.header);
    return success ? output : undefined;
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** The worker's end. */
export type OperatedWorker = {
  connection: Connection;
  pool: string;
  name: string;
  report(): WorkerReport;
  /** Does it; the report that is sent afterwards shows it. */
  operate(what: Operation, operator: string): void;
};

/** Answers operators; returns the function that ceases to. Messages that are malformed are dropped. */
export function answerOperators(worker: OperatedWorker): () => void {
  const { connection, pool, name } = worker;
  const answer = ({ subject, data }: Received) => {
    const operator = lastOf(subject);
    const question = isToken(operator) ? read(kQuestion, data) : undefined;
    if (question === undefined) return;
    if (question.t === "operate") worker.operate(question.what, operator);
    const { unfit, ...report } = worker.report();
    const short = unfit === undefined ? {} : { unfit: unfit.slice(0, kMostText) };
    const message = messageOf({ t: "report", ask: question.ask, ...report, ...short } as never);
    connection.publish(fromWorkerToOperatorSubject(operator, pool, name), message);
  };
  const ends = [listSubject("*"), operateSubject(pool, name, "*")].map((subject) =>
    connection.subscribe(subject, answer),
  );
  return () => {
    for (const end of ends) end();
  };
}

/** The operator's end, over a connection that is open. */
export class Operator {
  readonly #connection: Connection;
  readonly #name: string;

  /** @param name the operator's, which its key at the broker is for */
  constructor(connection: Connection, name: string) {
    this.#connection = connection;
    this.#name = name;
  }

  /**
   * Returns the workers that answer within `waitMs`, sorted by pool and name; none at once if the broker has no worker.
   * @param pool only those of this pool
   */
  async list(waitMs: number, pool?: string): Promise<ListedWorker[]> {
    const found: ListedWorker[] = [];
    const add = (worker: ListedWorker) => {
      if (pool === undefined || worker.pool === pool) found.push(worker);
      return false;
    };
    await this.#ask(listSubject(this.#name), { t: "list" }, waitMs, add);
    const key = ({ pool, name, process }: ListedWorker) => `${pool} ${name} ${process}`;
    return found.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  /**
   * Has one worker do something.
   * @returns its report afterwards; "nobody" if the broker has no worker of that name, "silence" if it did not answer
   */
  async operate(
    { pool, name }: { pool: string; name: string },
    what: Operation,
    waitMs: number,
  ): Promise<ListedWorker | "nobody" | "silence"> {
    let report: ListedWorker | undefined;
    const take = (worker: ListedWorker) => {
      report = worker;
      return true;
    };
    const subject = operateSubject(pool, name, this.#name);
    const isAnyone = await this.#ask(subject, { t: "operate", what }, waitMs, take);
    return report ?? (isAnyone ? "silence" : "nobody");
  }

  /** Calls `take` with each answer until it returns true. Returns false if the broker says that nobody is there. */
  async #ask(
    subject: string,
    question: { t: string; what?: Operation },
    waitMs: number,
    take: (worker: ListedWorker) => boolean,
  ): Promise<boolean> {
    const ask = randomBytes(8).toString("hex");
    let unsubscribe = () => {};
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isAnyone = await new Promise<boolean>((resolve) => {
      unsubscribe = this.#connection.subscribe(
        `${operatorSubject(this.#name)}.>`,
        ({ subject: from, data, isNobody }) => {
          const [kind, pool = "", name = ""] = from.split(".").slice(3);
          if (isNobody) {
            if (from === noWorkerSubject(this.#name, ask)) resolve(false);
            return;
          }
          const report = kind === "w" ? read(kReport, data) : undefined;
          if (report === undefined || report.ask !== ask) return;
          const { t: _, ask: __, ...own } = report;
          if (take({ pool, name, ...own })) resolve(true);
        },
      );
      timer = setTimeout(() => resolve(true), waitMs);
      const message = messageOf({ ...question, ask } as never);
      this.#connection.publish(subject, message, noWorkerSubject(this.#name, ask));
    });
    clearTimeout(timer);
    unsubscribe();
    return isAnyone;
  }
}
