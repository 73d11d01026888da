/**
 * What callers and workers say to one another, each a frame's header. Received ones are checked against these:
 * a field that is not named here is dropped, so that a newer side may say more to an older one. Pure.
 */

import * as v from "valibot";
import { isToken } from "../subjects.js";
import { WireError } from "./frame.js";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const id = v.custom<string>(isToken);
const text = v.string();
/** A worker's name and the number of its process. */
const worker = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{1,64}$/));
/** What the other side gives to the package's own checks. */
const plain = v.optional(v.unknown());
const stream = v.picklist([1, 2]);
/** Of what is said within a run, in a channel; see channel.ts. */
const numbered = { seq: count, ack: count };
/** How much of what the other side has said within its runs has come. */
const receipts = v.array(v.tuple([count, count]));

/** How a thing is run. */
const kind = v.picklist(["exec", "spawn", "batch", "session", "transaction", "explain"]);

/** What runs an `exec`, a session and so on. */
export type RunKind = v.InferOutput<typeof kind>;

/** Bytes of standard input that are put together before a command starts. */
const kMostInput = 2 ** 31 - 1;

/** To workers. `caller` and `run` name a run; the tenant is in the subject. */
const kToWorker = {
  /** Runs wait. Holds nothing of them. */
  want: v.object({ t: v.literal("want"), caller: id, n: count }),
  /** Start it, unless that is older than your lease, or you have no slot: then decline. Body: its input, if short. */
  grant: v.object({
    t: v.literal("grant"),
    caller: id,
    run: count,
    attempt: count,
    kind,
    /** The run that is a session or a transaction which it belongs to. */
    inside: v.optional(count),
    policy: plain,
    workspace: plain,
    input: plain,
    /** Bytes of standard input; they come as `input` where they are not the body. */
    stdinBytes: v.optional(v.pipe(count, v.maxValue(kMostInput))),
    /** Whether somebody looks at its output as it comes. */
    isLive: v.boolean(),
    /** Bytes of output that may be sent before any is taken. */
    credit: count,
    /** The lease under which it may be started: the worker's number of it. */
    lease: count,
    /** All runs with a lower number are settled. */
    oldest: count,
    /** How many wait besides. */
    waiting: count,
  }),
  /** The answer to a pull: nothing waits any more. */
  none: v.object({ t: v.literal("none"), caller: id }),
  abort: v.object({ t: v.literal("abort"), caller: id, run: count }),
  /** Body: bytes of standard input. */
  input: v.object({ t: v.literal("input"), caller: id, run: count, ...numbered }),
  inputEnd: v.object({ t: v.literal("inputEnd"), caller: id, run: count, ...numbered }),
  /** So many bytes more may be sent. */
  credit: v.object({
    t: v.literal("credit"),
    caller: id,
    run: count,
    ...numbered,
    stream,
    bytes: count,
  }),
  /** Nobody reads the stream any more. */
  outputClosed: v.object({
    t: v.literal("outputClosed"),
    caller: id,
    run: count,
    ...numbered,
    stream,
  }),
  /** An operation on a run: `waitForPort`, `resize`, a transaction's `changes`. Body: with it. */
  call: v.object({
    t: v.literal("call"),
    caller: id,
    run: count,
    ...numbered,
    call: count,
    operation: text,
    args: v.array(plain),
  }),
  /** Of a workspace that is moved; see workspace/exchange.ts. Body: with it. */
  port: v.object({ t: v.literal("port"), caller: id, run: count, ...numbered, header: plain }),
  /** So many of these were taken. */
  portTaken: v.object({ t: v.literal("portTaken"), caller: id, run: count, ...numbered, n: count }),
  /** Is it there? If not, say so, and never start it. */
  probe: v.object({ t: v.literal("probe"), caller: id, run: count, attempt: count }),
  /** The worker's own time of a beat, which the caller had, and the caller's of this; and which ends it has. */
  echo: v.object({
    t: v.literal("echo"),
    caller: id,
    at: v.number(),
    saidAt: v.number(),
    receipts,
    ended: v.array(count),
    oldest: count,
  }),
  /** It goes: all its runs end. */
  bye: v.object({ t: v.literal("bye"), caller: id }),
};

const error = v.object({
  name: text,
  message: text,
  code: v.optional(text),
  fix: v.optional(text),
  paths: v.optional(v.array(text)),
  changes: v.optional(v.array(plain)),
  port: v.optional(count),
  outcome: plain,
});

/** An error that travels. */
export type WireErrorShape = v.InferOutput<typeof error>;

/** To callers. `worker` says whose word it is. */
const kToCaller = {
  /** Give me up to `n` runs; an answer is due. */
  pull: v.object({ t: v.literal("pull"), worker, pool: id, n: count, lease: count }),
  /** This attempt was not started, and will never be. */
  decline: v.object({
    t: v.literal("decline"),
    worker,
    run: count,
    attempt: count,
    why: v.picklist(["busy", "draining", "stale", "unknown"]),
  }),
  /** It was started; of a session or transaction what it is. */
  began: v.object({ t: v.literal("began"), worker, run: count, ...numbered, value: plain }),
  /** Body: output. `at`: bytes of the stream before it. */
  out: v.object({ t: v.literal("out"), worker, run: count, ...numbered, stream, at: count }),
  /** All that was to be looked at was sent: what follows is what is kept of it. */
  keptFollows: v.object({ t: v.literal("keptFollows"), worker, run: count, ...numbered }),
  /** So many bytes of standard input were taken. */
  taken: v.object({ t: v.literal("taken"), worker, run: count, ...numbered, bytes: count }),
  /** The command has closed its input. */
  inputClosed: v.object({ t: v.literal("inputClosed"), worker, run: count, ...numbered }),
  /** How it ended; comes again until its receipt was echoed. Body: output that was not sent before. */
  end: v.object({
    t: v.literal("end"),
    worker,
    run: count,
    attempt: count,
    error: v.optional(error),
    value: plain,
    /** Bytes of each stream that were sent before, and that are in the body. */
    sent: v.tuple([count, count]),
    rest: v.array(count),
    /** Some of what it wrote was dropped: it will not come. */
    isCut: v.optional(v.boolean()),
    /** Slots that are free now, for grants under this lease. */
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
  /** As a worker's are told; the first `portTaken` asks for the workspace. */
  port: v.object({ t: v.literal("port"), worker, run: count, ...numbered, header: plain }),
  portTaken: v.object({ t: v.literal("portTaken"), worker, run: count, ...numbered, n: count }),
  /** Sign of life, with the worker's time, that of the caller's last echo, and the runs that are there. */
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

/** What a worker is told. */
export type ToWorker = MessageOf<typeof kToWorker>;
/** What a caller is told. */
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

/** The header of a frame for a worker. @throws WireError */
export const readToWorker: (header: unknown) => ToWorker = reader(kToWorker);

/** The header of a frame for a caller. @throws WireError */
export const readToCaller: (header: unknown) => ToCaller = reader(kToCaller);

/** What of this is said within a run, in its channel. */
export type RunToWorker = Extract<ToWorker, { run: number; seq: number }>;
export type RunToCaller = Extract<ToCaller, { run: number; seq: number }>;

/** What a side gives to its channel: the rest is the channel's, and whose it is. */
export type Unnumbered<Message> = Message extends unknown
  ? Omit<Message, "caller" | "worker" | "run" | "seq" | "ack">
  : never;
