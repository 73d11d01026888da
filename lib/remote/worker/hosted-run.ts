/** A run on a worker, with the channel between it and its caller. */

import { SandboxError } from "../../errors.js";
import { Channel, WirePort } from "../wire/channel.js";
import type { RunToCaller, RunToWorker, ToCaller, ToWorker, Unnumbered } from "../wire/messages.js";
import { errorShape, fromPlain } from "../wire/plain.js";
import type { Attachment, RunChannel } from "./attachment.js";
import type { Granted, GuestEnd } from "./guest.js";
import { type GuestNeeds, guestFor, type PendingGuest } from "./guests/guest-for.js";
import type { Room } from "./guests/transaction-guest.js";
import { kInputWindow } from "./streams.js";

type Grant = Extract<ToWorker, { t: "grant" }>;
type Reported = Unnumbered<RunToCaller>;
type Call = Extract<RunToWorker, { t: "call" }>;

/** Milliseconds that a caller may take for its next message about a workspace; a commit there may be long. */
const kPortStallMs = 600_000;
/** While a workspace is moved the caller hears of the run this often, though there may be no message for it. */
const kMovingMs = 10_000;

/** A command of `exec` that ends sooner is reported by its end alone, which saves a message for each. */
const kBegunMs = 50;

/** Of a run: most bytes sent that its caller has not confirmed, beyond which it gets no more credit but is dropped. */
const kMostUnconfirmedBytes = 16 * 1024 ** 2;
/** As above, in messages. */
const kMostUnconfirmed = 16_384;
/** Most operations of a run that have not been answered. */
const kMostCalls = 64;
/** Most commands at once in one session or transaction, which take no slot. */
const kMostInside = 256;

/** The worker's interface for a run. */
export type RunNeeds = {
  /** The worker's id. */
  id: string;
  attachment: Attachment;
  /** Sends a message to the caller. */
  say(message: ToCaller, body?: Uint8Array): void;
  find(openPort: () => WirePort): Promise<Granted>;
  /** Most bytes of standard input that are collected for a command. */
  mostStdinBytes: number;
  /** Milliseconds without a call or command after which a session or transaction is ended. */
  idleMs: number;
  room: Room;
  /** Called when the run is dropped, since its caller sends more than it may, or confirms nothing. */
  excess(): void;
  /** Counts bytes of output that are sent. */
  sends(bytes: number): void;
};

/** Starts the run of a grant, and adds it to the attachment's runs. */
export function hostRun(grant: Grant, body: Uint8Array, needs: RunNeeds): PendingGuest {
  const { run, kind, credit, isLive, inside } = grant;
  const { id, attachment } = needs;
  const channel: RunChannel = new Channel(
    (message, bytes) => needs.say({ ...message, worker: id, run }, bytes),
    (message: RunToWorker, bytes) => {
      const guest = attachment.runs.get(run);
      if (!isWithinBounds(message, bytes)) {
        needs.excess();
        guest?.drop();
      } else if (message.t === "call") void answer(message, guest);
      else if (message.t === "port") guest?.port?.deliver(message.header, bytes);
      else if (message.t === "portTaken") guest?.port?.granted(message.n);
      else guest?.receive(message, bytes);
    },
  );
  let inputRoom = kInputWindow;
  let calls = 0;
  const isWithinBounds = ({ t }: RunToWorker, { length }: Uint8Array): boolean => {
    if (t === "input") {
      inputRoom -= length;
      return inputRoom >= 0;
    }
    if (t === "call") return calls < kMostCalls && channel.unconfirmed.messages < kMostUnconfirmed;
    const { messages, bytes } = channel.unconfirmed;
    return t !== "credit" || (bytes < kMostUnconfirmedBytes && messages < kMostUnconfirmed);
  };
  const answer = async (call: Call, guest: PendingGuest | undefined) => {
    calls += 1;
    await answerCall(call, guest, tell);
    calls -= 1;
    idle.used();
  };
  const tell = (message: Reported, bytes?: Uint8Array) =>
    channel.say(message, bytes, performance.now());
  const host: GuestNeeds["host"] = {
    lease: attachment.lease,
    credit,
    isLive,
    began: (value) => {
      const say = () => tell({ t: "began", value });
      if (kind === "exec" || kind === "batch") beginning = setTimeout(say, kBegunMs);
      else say();
    },
    out: (stream, at, bytes) => {
      needs.sends(bytes.length);
      tell({ t: "out", stream, at }, bytes);
    },
    keptFollows: () => tell({ t: "keptFollows" }),
    taken: (bytes) => {
      inputRoom += bytes;
      tell({ t: "taken", bytes });
    },
    inputClosed: () => tell({ t: "inputClosed" }),
  };
  attachment.channels.set(run, channel);
  const within = inside === undefined ? undefined : attachment.runs.get(inside);
  const openPort = () => {
    const sender = {
      send: (header: unknown, bytes: Uint8Array) => tell({ t: "port", header }, bytes),
      taken: (n: number) => tell({ t: "portTaken", n }),
    };
    tell({ t: "portTaken", n: 0 });
    moving = setInterval(() => tell({ t: "portTaken", n: 0 }), kMovingMs);
    moving.unref();
    return new WirePort(sender, kPortStallMs);
  };
  let beginning: ReturnType<typeof setTimeout> | undefined;
  let moving: ReturnType<typeof setInterval> | undefined;
  const idle = new IdleWatch(needs.idleMs, () => {
    const isUsed = calls > 0 || guest.insiders.size > 0;
    if (!isUsed) guest.conclude(`no command or call came for ${needs.idleMs} ms`);
    return !isUsed;
  });
  const insiders = inside === undefined ? undefined : within?.insiders;
  const guest = guestFor(grant, body, {
    ...{ within, find: needs.find, openPort, host, mostStdinBytes: needs.mostStdinBytes },
    isFull: (insiders?.size ?? 0) >= kMostInside,
    peer: (number) => attachment.runs.get(number),
    room: needs.room,
  });
  insiders?.add(guest);
  if (kind === "session" || kind === "transaction") idle.used();
  guest.used = () => idle.used();
  attachment.runs.set(run, guest);
  void guest.done.then(() => {
    idle.close();
    clearTimeout(beginning);
    clearInterval(moving);
    insiders?.delete(guest);
    within?.used();
  });
  return guest;
}

/** Ends a session or transaction that nobody uses: it holds a slot, or at least memory. */
class IdleWatch {
  readonly #ms: number;
  readonly #end: () => boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** @param end ends it, unless something in it goes on; returns false then */
  constructor(ms: number, end: () => boolean) {
    this.#ms = Math.min(ms, 2 ** 31 - 1); // longer timers fire at once
    this.#end = end;
  }

  /** Begins the time anew. */
  used(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (!this.#end()) this.used();
    }, this.#ms).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}

async function answerCall(
  { call, operation, args }: Call,
  guest: PendingGuest | undefined,
  tell: (message: Reported) => void,
): Promise<void> {
  try {
    if (guest === undefined) throw new SandboxError("it has ended", { code: "ERR_SANDBOX_CLOSED" });
    const value = await guest.call(operation, fromPlain(args) as unknown[]);
    tell({ t: "answer", call, value });
  } catch (error) {
    tell({ t: "answer", call, value: null, error: errorShape(error) });
  }
}

type End = Extract<ToCaller, { t: "end" }>;

/** A usual result without its output. */
const kResultBytes = 2_048;

/** Replaces results that are longer than a frame may be. */
const kTooLong = {
  value: null,
  rest: [],
  error: {
    name: "RangeError",
    message:
      "it has ended, but its results are too long to be sent: ask for fewer commands at once",
    code: "ERR_OUT_OF_RANGE",
  },
};

/** The end of a run as reported to its caller, repeatedly if necessary. */
export class ReportedEnd {
  readonly #end: Omit<End, "free" | "lease">;
  readonly #body: Buffer;

  constructor({ rest, ...end }: GuestEnd, of: Pick<End, "worker" | "pool" | "run" | "attempt">) {
    const lengths = rest.map(({ length }) => length);
    this.#end = { t: "end", ...of, ...end, value: end.value, rest: lengths };
    this.#body = Buffer.concat(rest);
  }

  /** Bytes of output that the end carries. */
  get bytes(): number {
    return this.#body.length;
  }

  /** An estimate of the bytes that keeping it takes. */
  get size(): number {
    const { value } = this.#end;
    return this.#body.length + kResultBytes * (Array.isArray(value) ? value.length : 1);
  }

  /** @param send returns false if the message is too long to be sent */
  say(send: (end: End, body?: Uint8Array) => boolean, slots: Pick<End, "free" | "lease">): void {
    const end = { ...this.#end, ...slots };
    if (!send(end, this.#body)) send({ ...end, ...kTooLong });
  }
}
