import type { NativeExecInput } from "../../../../types/public.js";
import type { NativeSession } from "../../../../types/session.js";
import { SandboxError } from "../../../errors.js";
import type { WirePort } from "../../wire/channel.js";
import type { ToWorker } from "../../wire/messages.js";
import { errorShape, fromPlain, toPlain } from "../../wire/plain.js";
import type { Granted, Guest, GuestEnd, Host, Place, RunnerPlace } from "../guest.js";
import { StdinBuffer } from "../streams.js";
import { BatchGuest, type BatchInput, ExecGuest, SpawnGuest } from "./command-guests.js";
import { type Room, SessionGuest, TransactionGuest } from "./transaction-guest.js";

type Grant = Extract<ToWorker, { t: "grant" }>;

/** Most messages for a guest that has not begun; a caller that sends more is not one of ours. */
const kMostEarly = 1_024;

/** Parts from which a guest is made. */
export type GuestNeeds = {
  host: Omit<Host, "isAborted">;
  /** The session or transaction that contains the run. */
  within: PendingGuest | undefined;
  /** Finds the requested place. */
  find(openPort: () => WirePort): Promise<Granted>;
  /** Asks the caller for the workspace. */
  openPort(): WirePort;
  /** Most bytes of standard input that are collected for a command. */
  mostStdinBytes: number;
  /** True if the session or transaction has as many commands as it may. */
  isFull: boolean;
  /** Returns another run of the same caller; undefined if it has ended. */
  peer(run: number): PendingGuest | undefined;
  room: Room;
};

function dropped(guest: Guest): void {
  if (guest.drop) guest.drop();
  else guest.abort();
}

/** A guest whose place is still being found; messages to it wait meanwhile. */
export class PendingGuest implements Guest {
  readonly done: Promise<GuestEnd>;
  /** The place of the guest, once it is found. */
  granted: Granted | undefined;
  /** The port through which its workspace is moved. */
  port: WirePort | undefined;
  /** The commands inside it that have not ended. */
  readonly insiders = new Set<PendingGuest>();
  /** Called when a command inside it has ended. */
  used = () => {};
  #guest: Guest | undefined;
  #isAborted = false;
  #isDropped = false;
  readonly #early: [ToWorker, Uint8Array][] = [];

  constructor(make: (self: PendingGuest) => Promise<Guest>) {
    this.done = this.#run(make);
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  get place(): Place | undefined {
    return this.#guest?.place;
  }

  /** The session, if it is one that is open; counts as a use of it. */
  get session(): NativeSession | undefined {
    this.used();
    return this.#guest instanceof SessionGuest ? this.#guest.session : undefined;
  }

  /** Itself, if it is a transaction that has been found a place; counts as a use of it. */
  get transaction(): TransactionGuest | undefined {
    this.used();
    return this.#guest instanceof TransactionGuest ? this.#guest : undefined;
  }

  abort(): void {
    this.#isAborted = true;
    if (this.#guest) this.#guest.abort();
    else this.port?.cut("the run was aborted");
  }

  /** Ends the guest, for a caller that receives nothing any more. */
  drop(): void {
    this.#isDropped = true;
    if (this.#guest) dropped(this.#guest);
    this.port?.cut("the caller is gone");
  }

  /** Ends the guest if it is a session or transaction, with a reason for its caller. */
  conclude(why: string): void {
    this.#guest?.conclude?.(why);
  }

  receive(message: ToWorker, body: Uint8Array): void {
    if (this.#guest) this.#guest.receive(message, body);
    else if (this.#early.length < kMostEarly) this.#early.push([message, body]);
    else this.drop();
  }

  async call(operation: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#guest === undefined) throw new Error("it has not begun");
    return this.#guest.call(operation, args);
  }

  async #run(make: (self: PendingGuest) => Promise<Guest>): Promise<GuestEnd> {
    try {
      const guest = await make(this);
      this.#guest = guest;
      for (const [message, body] of this.#early.splice(0)) guest.receive(message, body);
      if (this.#isDropped) dropped(guest);
      else if (this.#isAborted) guest.abort();
      const end = await guest.done;
      await this.granted?.finish?.();
      return end;
    } catch (error) {
      return { error: errorShape(error), sent: [0, 0], rest: [] };
    } finally {
      this.port?.cut("the run has ended");
      this.granted?.release();
    }
  }
}

function placeWithin(within: PendingGuest | undefined): Granted {
  const { place, granted } = within ?? {};
  if (place === undefined || granted === undefined) {
    throw new SandboxError("the session or transaction has ended", { code: "ERR_SANDBOX_CLOSED" });
  }
  return { place: place as Granted["place"], bounded: granted.bounded, release: () => {} };
}

function begin(
  granted: Granted,
  grant: Grant,
  stdin: StdinBuffer,
  host: Host,
  { peer, room }: GuestNeeds,
): Guest {
  const { place, bounded } = granted;
  const { kind } = grant;
  if (kind === "transaction" && granted.finish !== undefined) {
    throw new TypeError(
      "a transaction needs a workspace that the worker has, not one that is moved",
    );
  }
  const input = fromPlain(grant.input) as object;
  switch (kind) {
    case "exec":
      return new ExecGuest(place, bounded(input, kind), stdin, host);
    case "spawn":
      return new SpawnGuest(place, bounded(input, kind), host);
    case "batch": {
      const { commands, ...rest } = input as BatchInput;
      const each = commands.map((command) => bounded(command, "exec") as NativeExecInput);
      return new BatchGuest(place, { ...rest, commands: each }, stdin, host);
    }
    case "session":
      return new SessionGuest(place, input, host, (run) => peer(run)?.session);
    case "transaction":
      return new TransactionGuest(place, input, {
        ...{ host, bounded, room },
        peer: (run) => peer(run)?.transaction,
      });
    case "explain":
      return new ExplainGuest(place, bounded(input, kind), host);
  }
}

function expectRoom({ stdinBytes = 0 }: Grant, { mostStdinBytes: most, isFull }: GuestNeeds): void {
  if (stdinBytes > most) {
    const message = `Expected \`stdin\` to have at most ${most} bytes on this worker, got ${stdinBytes}`;
    throw Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
  }
  if (isFull) throw new RangeError("a session or transaction has too many commands at once");
}

/** Starts the guest of a grant. */
export function guestFor(grant: Grant, body: Uint8Array, needs: GuestNeeds): PendingGuest {
  // Input may arrive before the place is found.
  const isTooLong = (grant.stdinBytes ?? 0) > needs.mostStdinBytes;
  const stdin = new StdinBuffer(isTooLong ? undefined : grant.stdinBytes, body, needs.host.taken);
  return new PendingGuest(async (self) => {
    expectRoom(grant, needs);
    const openPort = () => {
      self.port = needs.openPort();
      return self.port;
    };
    const isInside = grant.inside !== undefined;
    self.granted = isInside ? placeWithin(needs.within) : await needs.find(openPort);
    const host = { ...needs.host, isAborted: () => self.isAborted };
    return begin(self.granted, grant, stdin, host, needs);
  });
}

const kNothing = { sent: [0, 0] as [number, number], rest: [] };

/** Explains a command, and starts nothing. */
class ExplainGuest implements Guest {
  readonly done: Promise<GuestEnd>;

  constructor(place: Pick<RunnerPlace, "explain">, input: object, host: Host) {
    this.done = this.#run(place, input as NativeExecInput, host);
  }

  abort(): void {}

  receive(): void {}

  async call(operation: string): Promise<unknown> {
    throw new TypeError(`there is no operation ${operation} on what is only explained`);
  }

  async #run(
    place: Pick<RunnerPlace, "explain">,
    input: NativeExecInput,
    host: Host,
  ): Promise<GuestEnd> {
    try {
      host.began();
      return { value: toPlain(await place.explain(input), "explanation"), ...kNothing };
    } catch (error) {
      return { error: errorShape(error), ...kNothing };
    }
  }
}
