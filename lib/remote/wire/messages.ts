/**
 * Messages between callers and workers; each is the header of a frame. Received ones are validated here. Unknown fields
 * are dropped, so that a newer side may send more to an older one. Pure.
 */

import * as v from "valibot";
import { isToken } from "../subjects.js";
import { WireError } from "./frame.js";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const id = v.custom<string>(isToken);
const text = v.string();
/** A worker's name and the number of its process. */
const worker = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{1,64}$/));
/** A value that the receiving package checks itself. */
const plain = v.optional(v.unknown());
const stream = v.picklist([1, 2]);
/** Fields of a message within a run's channel; see channel.ts. */
const numbered = { seq: count, ack: count };
/** How many messages of each run were received. */
const receipts = v.array(v.tuple([count, count]));

/** The kinds of runs. */
const kind = v.picklist(["exec", "spawn", "batch", "session", "transaction", "explain"]);

/** A kind of run. */
export type RunKind = v.InferOutput<typeof kind>;

/** Most bytes of standard input that are collected before a command starts. */
const kMostInput = 2 ** 31 - 1;

/** Messages to workers. `caller` and `run` identify a run; the tenant is in the subject. */
const kToWorker = {
  /** Runs wait. Carries no data about them. */
  want: v.object({ t: v.literal("want"), caller: id, n: count }),
  /** Start the run. Decline if it is under an expired lease, or no slot is free. Body: its input, if short. */
  grant: v.object({
    t: v.literal("grant"),
    caller: id,
    run: count,
    attempt: count,
    kind,
    /** Number of the session or transaction that contains the run. */
    inside: v.optional(count),
    policy: plain,
    workspace: plain,
    input: plain,
    /** Bytes of standard input; sent as `input` if they are not in the body. */
    stdinBytes: v.optional(v.pipe(count, v.maxValue(kMostInput))),
    /** True if the caller reads the output as it arrives. */
    isLive: v.boolean(),
    /** Bytes of output that may be sent before credit. */
    credit: count,
    /** The worker's number of the lease under which the run may start. */
    lease: count,
    /** All runs with a lower number are settled. */
    oldest: count,
    /** How many further runs wait. */
    waiting: count,
  }),
  /** Answers a pull: no runs wait. */
  none: v.object({ t: v.literal("none"), caller: id }),
  abort: v.object({ t: v.literal("abort"), caller: id, run: count }),
  /** Body: bytes of standard input. */
  input: v.object({ t: v.literal("input"), caller: id, run: count, ...numbered }),
  inputEnd: v.object({ t: v.literal("inputEnd"), caller: id, run: count, ...numbered }),
  /** Lets the worker send `bytes` more bytes of a stream. */
  credit: v.object({
    t: v.literal("credit"),
    caller: id,
    run: count,
    ...numbered,
    stream,
    bytes: count,
  }),
  /** The caller no longer reads the stream. */
  outputClosed: v.object({
    t: v.literal("outputClosed"),
    caller: id,
    run: count,
    ...numbered,
    stream,
  }),
  /** Calls an operation on a run: `waitForPort`, `resize`, a transaction's `changes`. */
  call: v.object({
    t: v.literal("call"),
    caller: id,
    run: count,
    ...numbered,
    call: count,
    operation: text,
    args: v.array(plain),
  }),
  /** A message of a moved workspace; see workspace/exchange.ts. Body: its bytes. */
  port: v.object({ t: v.literal("port"), caller: id, run: count, ...numbered, header: plain }),
  /** Acknowledges `n` of these. */
  portTaken: v.object({ t: v.literal("portTaken"), caller: id, run: count, ...numbered, n: count }),
  /** Asks for the state of a run. A worker without it declines, and never starts it. */
  probe: v.object({ t: v.literal("probe"), caller: id, run: count, attempt: count }),
  /** Answers a beat: the worker's time of it, the caller's time of this echo, and the ends that have arrived. */
  echo: v.object({
    t: v.literal("echo"),
    caller: id,
    at: v.number(),
    saidAt: v.number(),
    receipts,
    ended: v.array(count),
    oldest: count,
  }),
  /** The caller closes: all its runs end. */
  bye: v.object({ t: v.literal("bye"), caller: id }),
};

const error = v.object({
  name: text,
  message: text,
  code: v.optional(text),
  fix: v.optional(text),
  paths: v.optional(v.array(text)),
  changes: v.optional(v.array(plain)),
  reasons: v.optional(v.array(v.object({ path: text, reason: text }))),
  port: v.optional(count),
  outcome: plain,
});

/** An error on the wire. */
export type WireErrorShape = v.InferOutput<typeof error>;

/** Messages to callers. `worker` identifies the sender. */
const kToCaller = {
  /** Requests up to `n` runs; the caller has to answer. */
  pull: v.object({ t: v.literal("pull"), worker, pool: id, n: count, lease: count }),
  /** This attempt was not started, and never will be. */
  decline: v.object({
    t: v.literal("decline"),
    worker,
    run: count,
    attempt: count,
    why: v.picklist(["busy", "draining", "stale", "unfit", "unknown"]),
  }),
  /** The run was started; for a session or transaction with its properties. */
  began: v.object({ t: v.literal("began"), worker, run: count, ...numbered, value: plain }),
  /** Body: output. `at`: bytes of the stream before it. */
  out: v.object({ t: v.literal("out"), worker, run: count, ...numbered, stream, at: count }),
  /** The live output is complete: the kept output follows. */
  keptFollows: v.object({ t: v.literal("keptFollows"), worker, run: count, ...numbered }),
  /** Acknowledges `bytes` bytes of standard input. */
  taken: v.object({ t: v.literal("taken"), worker, run: count, ...numbered, bytes: count }),
  /** The command has closed its input. */
  inputClosed: v.object({ t: v.literal("inputClosed"), worker, run: count, ...numbered }),
  /** The end of a run; repeated until an echo acknowledges it. Body: output that was not sent before. */
  end: v.object({
    t: v.literal("end"),
    worker,
    run: count,
    attempt: count,
    error: v.optional(error),
    value: plain,
    /** Bytes of each stream sent before, and lengths of the parts in the body. */
    sent: v.tuple([count, count]),
    rest: v.array(count),
    /** True if some output was dropped, and will not arrive. */
    isCut: v.optional(v.boolean()),
    /** Free slots, for grants under this lease. */
    free: count,
    lease: count,
    pool: id,
  }),
  answer: v.object({
    t: v.literal("answer"),
    worker,
    run: count,
    ...numbered,
    call: count,
    error: v.optional(error),
    value: plain,
  }),
  /** As the messages to workers; the first `portTaken` asks for the workspace. */
  port: v.object({ t: v.literal("port"), worker, run: count, ...numbered, header: plain }),
  portTaken: v.object({ t: v.literal("portTaken"), worker, run: count, ...numbered, n: count }),
  /** Sign of life with the worker's time, the time of the caller's last echo, and the current runs. */
  beat: v.object({
    t: v.literal("beat"),
    worker,
    pool: id,
    at: v.number(),
    heard: v.number(),
    receipts,
    runs: v.array(count),
    free: count,
    lease: count,
  }),
};

type Schemas = Record<string, v.GenericSchema>;
type MessageOf<All extends Schemas> = { [Name in keyof All]: v.InferOutput<All[Name]> }[keyof All];

/** A message to a worker. */
export type ToWorker = MessageOf<typeof kToWorker>;
/** A message to a caller. */
export type ToCaller = MessageOf<typeof kToCaller>;

function reader<All extends Schemas>(schemas: All): (header: unknown) => MessageOf<All> {
  return (header) => {
    const { t } = (header ?? {}) as { t?: unknown };
    const schema = typeof t === "string" && Object.hasOwn(schemas, t) ? schemas[t] : undefined;
    if (schema === undefined) {
      throw new WireError(`no such message: ${typeof t === "string" ? t.slice(0, 40) : typeof t}`);
    }
    const { success, output, issues } = v.safeParse(schema, header);
    if (success) return output as MessageOf<All>;
    throw new WireError(`a message "${t}" is wrong: ${issues[0]?.message}`);
  };
}

/**
 * Validates the header of a frame for a worker.
 * @throws WireError
 */
export const readToWorker: (header: unknown) => ToWorker = reader(kToWorker);

/**
 * Validates the header of a frame for a caller.
 * @throws WireError
 */
export const readToCaller: (header: unknown) => ToCaller = reader(kToCaller);

/** Messages within a run, sent in its channel. */
export type RunToWorker = Extract<ToWorker, { run: number; seq: number }>;
export type RunToCaller = Extract<ToCaller, { run: number; seq: number }>;

/** A message as given to a channel, which adds the missing fields. */
export type Unnumbered<Message> = Message extends unknown
  ? Omit<Message, "caller" | "worker" | "run" | "seq" | "ack">
  : never;
