/** A run on a worker, with the channel in which it and its caller speak. */

import { SandboxError } from "../../errors.js";
import { Channel } from "../wire/channel.js";
import { errorShape } from "../wire/errors.js";
import type { RunToCaller, RunToWorker, ToCaller, ToWorker, Unnumbered } from "../wire/messages.js";
import { fromPlain } from "../wire/plain.js";
import { WirePort } from "../wire/port.js";
import type { Attachment, RunChannel } from "./attachment.js";
import { type GuestNeeds, guestFor, type PendingGuest } from "./guests/guest-for.js";
import type { Granted } from "./places.js";

type Grant = Extract<ToWorker, { t: "grant" }>;
type Told = Unnumbered<RunToCaller>;

/** What a run has of its worker. */
export type RunNeeds = {
  /** The worker's. */
  id: string;
  attachment: Attachment;
  /** To the caller. */
  say(message: ToCaller, body?: Uint8Array): void;
  find(openPort: () => WirePort): Promise<Granted>;
  /** So many bytes of output go. */
  sends(bytes: number): void;
};

/** Starts what a grant asks for: it is in the attachment's runs from here on. */
export function hostRun(grant: Grant, body: Uint8Array, needs: RunNeeds): PendingGuest {
  const { run, kind, credit, isLive, inside } = grant;
  const { id, attachment } = needs;
  const channel: RunChannel = new Channel(
    (message, bytes) => needs.say({ ...message, worker: id, run }, bytes),
    (message: RunToWorker, bytes) => {
      const guest = attachment.runs.get(run);
      if (message.t === "call") void answerCall(message, guest, tell);
      else if (message.t === "port") guest?.port?.deliver(message.header, bytes);
      else if (message.t === "portTaken") guest?.port?.granted(message.n);
      else guest?.receive(message, bytes);
    },
  );
  const tell = (message: Told, bytes?: Uint8Array) =>
    channel.say(message, bytes, performance.now());
  const host: GuestNeeds["host"] = {
    lease: attachment.lease,
    credit,
    isLive,
    began: (value) => {
      if (kind !== "exec" && kind !== "batch") tell({ t: "began", value });
    },
    out: (stream, at, bytes) => {
      needs.sends(bytes.length);
      tell({ t: "out", stream, at }, bytes);
    },
    keptFollows: () => tell({ t: "keptFollows" }),
    taken: (bytes) => tell({ t: "taken", bytes }),
    inputClosed: () => tell({ t: "inputClosed" }),
  };
  attachment.channels.set(run, channel);
  const within = inside === undefined ? undefined : attachment.runs.get(inside);
  const openPort = () => {
    const port = new WirePort({
      send: (header, bytes) => tell({ t: "port", header }, bytes),
      taken: (n) => tell({ t: "portTaken", n }),
    });
    tell({ t: "portTaken", n: 0 });
    return port;
  };
  const guest = guestFor(grant, body, { within, find: needs.find, openPort, host });
  attachment.runs.set(run, guest);
  return guest;
}

async function answerCall(
  { call, operation, args }: Extract<RunToWorker, { t: "call" }>,
  guest: PendingGuest | undefined,
  tell: (message: Told) => void,
): Promise<void> {
  try {
    if (guest === undefined) throw new SandboxError("it has ended", { code: "ERR_SANDBOX_CLOSED" });
    const value = await guest.call(operation, fromPlain(args) as unknown[]);
    tell({ t: "answer", call, value });
  } catch (error) {
    tell({ t: "answer", call, value: null, error: errorShape(error) });
  }
}
