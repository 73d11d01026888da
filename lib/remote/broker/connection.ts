/**
 * One connection to the broker for all its users. It reconnects by itself, and reports each loss and recovery to
 * listeners. Belongs to one JavaScript thread.
 */

import type * as Transport from "@nats-io/transport-node";

import type { ConnectionOptions, Msg, NatsConnection, Subscription } from "@nats-io/transport-node";

import { SandboxError } from "../../errors.js";
import { type Refused, refusedOf } from "./refused.js";

const kReconnectMs = 250;
/** A server that takes longer to answer is passed over for the next one. */
const kConnectMs = 1_500;
/** Milliseconds between questions to the broker, and looks for what it has sent. */
const kPingMs = 600;
/**
 * Looks in a row that find nothing, after which the broker counts as gone: within 2.4 s, so that another one is
 * found before leases of 4 s are over, though the client tries the frozen one again first. Any byte counts, since an
 * answer may be behind long messages on a slow way.
 */
const kMostSilent = 2;
/** Milliseconds that closing waits for the broker to take what is buffered. */
const kFlushMs = 2_000;

/** The longest message, a piece of a frame; see `Outbox` in wire/frame.ts. */
const kLeastPayload = 257 * 1024;

/** A received message, or the broker's notice that no process received a sent one. */
export type Received = { subject: string; data: Uint8Array; isNobody: boolean };

/** Listens to a connection. */
export type Listener = {
  /**
   * Called when the connection is up, for the first time or again: announce current state anew.
   * @param isNew true if no subscriptions exist yet
   */
  connected?(isNew: boolean): void;
  disconnected?(): void;
  /** Called when the connection has ended for good: the broker refuses it. */
  failed?(error: Error): void;
  /** Called when the broker does not permit a subscription or a message; the connection goes on. */
  refused?(refused: Refused): void;
};

type Handle = { ref(): void; unref(): void };

/** Returns the client's private socket and timer of pings; what the client does not have is undefined. */
function innerOf(connection: NatsConnection) {
  type Socket = { bytesRead?: number };
  type Inner = { transport?: { socket?: Socket }; heartbeats?: { timer?: unknown } };
  const { transport, heartbeats } = (connection as unknown as { protocol?: Inner }).protocol ?? {};
  return { socket: transport?.socket, timer: heartbeats?.timer };
}

function isHandle(value: unknown): value is Handle {
  const { ref, unref } = (value ?? {}) as Partial<Handle>;
  return typeof ref === "function" && typeof unref === "function";
}

/** Returns what of the client keeps the process alive: the socket, and the timer of the next ping. */
function handlesOf(connection: NatsConnection): Handle[] {
  const { socket, timer } = innerOf(connection);
  return [socket, timer].filter(isHandle);
}

/** True for an error that trying again can't solve. */
function isRefusal(error: unknown): boolean {
  const name = (error as Error | undefined)?.name ?? "";
  return /Authorization|Authentication|InvalidArgument|PermissionViolation/.test(name);
}

export function refusal(cause: unknown): SandboxError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SandboxError(`the broker refuses the connection: ${reason}`, {
    code: "ERR_SANDBOX_UNAVAILABLE",
    fix: "check `servers`, `credentials` and `tls`",
    cause,
  });
}

/** Returns an error if the broker's limits are too low. */
export function unfit({ info }: NatsConnection): SandboxError | undefined {
  const most = info?.max_payload ?? kLeastPayload;
  if (most >= kLeastPayload) return undefined;
  return new SandboxError(
    `the broker takes no message of more than ${most} bytes, and ${kLeastPayload} are needed`,
    { code: "ERR_SANDBOX_UNAVAILABLE", fix: "raise `max_payload` in its configuration" },
  );
}

/** Supplies the broker's address and credentials. */
type Access = { connectionOptions(nats: Nats): Promise<ConnectionOptions> };

const kOptions: ConnectionOptions = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: kReconnectMs,
  reconnectJitter: kReconnectMs / 2,
  timeout: kConnectMs,
  noAsyncTraces: true,
};

/** A connection; {@link open} connects. */
export class Connection {
  readonly #access: Access;
  readonly #listeners = new Set<Listener>();
  #connection: NatsConnection | undefined;
  #opening: Promise<void> | undefined;
  #isConnected = false;
  #isClosed = false;
  #failure: Error | undefined;
  #holds = 0;
  #uses = 0;

  constructor(access: Access) {
    this.#access = access;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The reason why the connection has ended for good; undefined while it has not. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Connects, and keeps trying; resolves when the connection is up or has ended for good. */
  open(): Promise<void> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** Sends a message. While the connection is down it may be lost, or sent later; after the end it is dropped. */
  publish(subject: string, data: Uint8Array, reply?: string): void {
    if (this.#connection === undefined || this.#connection.isClosed()) return;
    this.#connection.publish(subject, data, reply === undefined ? undefined : { reply });
  }

  /** @param queue each message goes to only one of the subscribers of a queue */
  subscribe(subject: string, receive: (message: Received) => void, queue?: string): () => void {
    const subscription: Subscription | undefined = this.#connection?.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error: Error | null, message: Msg) => {
        if (error) return; // a missing permission is reported as an error of the connection
        const isNobody = message.data.length === 0 && message.headers?.code === 503;
        try {
          receive({ subject: message.subject, data: message.data, isNobody });
        } catch (cause) {
          // The client would silently stop reading: let a bug of ours end the process instead.
          setImmediate(() => {
            throw cause;
          });
        }
      },
    });
    return () => subscription?.unsubscribe();
  }

  /** Resolves when the broker has read all that was sent, and what it refused of that has been reported. */
  async settled(): Promise<void> {
    await this.#connection?.flush().catch(() => {}); // a lost connection is reported otherwise
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** Keeps reconnecting while the connection is in use; each `use` has its `unuse`. */
  use(): void {
    this.#uses += 1;
    void this.open();
  }

  unuse(): void {
    this.#uses -= 1;
    if (!this.#isConnected) this.#sleep();
  }

  /** Keeps the process alive while code waits; each `hold` has its `release`. */
  hold(): void {
    if (++this.#holds === 1) this.#keep();
  }

  release(): void {
    if (--this.#holds === 0) this.#keep();
  }

  /** Sends what is buffered, for at most two seconds, and closes the connection. Keeps the process alive meanwhile. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isConnected = false;
    const connection = this.#connection;
    if (connection === undefined) return;
    this.hold();
    try {
      if (!connection.isClosed()) await this.#flush(connection);
      await connection.close();
    } finally {
      this.release();
    }
  }

  /** A broker that is frozen answers no flush. */
  async #flush(connection: NatsConnection): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, kFlushMs);
    });
    await Promise.race([connection.flush().catch(() => {}), late]);
    clearTimeout(timer);
  }

  async #open(): Promise<void> {
    let nats: Nats;
    let options: ConnectionOptions;
    try {
      nats = await loadNats();
      options = { ...kOptions, ...(await this.#access.connectionOptions(nats)) };
    } catch (error) {
      return this.#fail(error as Error);
    }
    while (!this.#isClosed) {
      try {
        this.#connection = await nats.connect(options);
        break;
      } catch (error) {
        if (isRefusal(error)) return this.#fail(refusal(error));
        await this.#pause();
      }
    }
    const connection = this.#connection;
    if (connection === undefined) return;
    if (this.#isClosed) return connection.close();
    const fault = unfit(connection);
    if (fault !== undefined) {
      this.#fail(fault);
      return connection.close();
    }
    this.#isConnected = true;
    this.#keep();
    void this.#watch(connection);
    this.#lookForLife(connection);
    for (const listener of [...this.#listeners]) listener.connected?.(true);
  }

  async #watch(connection: NatsConnection): Promise<void> {
    void connection.closed().then((error) => {
      if (connection !== this.#connection) return; // `#sleep` has replaced it
      this.#isConnected = false;
      if (!this.#isClosed) this.#fail(refusal(error ?? new Error("it was closed")));
    });
    for await (const status of connection.status()) {
      const { type } = status;
      if (connection !== this.#connection) return;
      const refused = type === "error" ? refusedOf(status.error) : undefined;
      if (refused) for (const listener of [...this.#listeners]) listener.refused?.(refused);
      if (type === "reconnect") {
        this.#isConnected = true;
        this.#keep();
        for (const listener of [...this.#listeners]) listener.connected?.(false);
      } else if (type === "disconnect") {
        this.#isConnected = false;
        for (const listener of [...this.#listeners]) listener.disconnected?.();
        this.#sleep();
      } else if (type === "ping") this.#keep(); // there is a new timer now
    }
  }

  /** Reconnects where nothing comes from the broker: it is frozen, or the way to it is cut. */
  #lookForLife(connection: NatsConnection): void {
    let [answers, isAsked, silent, seen] = [0, false, 0, ""];
    const timer = setInterval(() => {
      if (connection !== this.#connection || connection.isClosed()) return clearInterval(timer);
      const now = `${answers} ${connection.stats().inMsgs} ${innerOf(connection).socket?.bytesRead}`;
      silent = this.#isConnected && now === seen ? silent + 1 : 0;
      seen = now;
      if (silent > kMostSilent) {
        silent = 0;
        void connection.reconnect().catch(() => {}); // it has been closed
      } else if (!isAsked) {
        isAsked = true;
        const answered = () => {
          isAsked = false;
        };
        void connection.flush().then(() => {
          answers += 1;
          answered();
        }, answered);
      }
    }, kPingMs);
    timer.unref();
  }

  #keep(): void {
    if (this.#connection === undefined) return;
    for (const handle of handlesOf(this.#connection)) {
      if (this.#holds > 0) handle.ref();
      else handle.unref();
    }
  }

  /** Closes a lost connection that is not in use: the client would keep trying, and keep the process alive. */
  #sleep(): void {
    const connection = this.#connection;
    const isOver = this.#isClosed || this.#failure !== undefined;
    if (connection === undefined || this.#uses + this.#holds > 0 || isOver) return;
    this.#connection = undefined;
    this.#opening = undefined;
    void connection.close().catch(() => {});
  }

  /** Waits before the next attempt; keeps the process alive if `hold` is in effect. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, kReconnectMs);
      if (this.#holds === 0) timer.unref();
    });
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const listener of [...this.#listeners]) listener.failed?.(error);
  }
}

/** Loads the NATS client, an optional peer that only remote features need. */

/** The client's package. */
export type Nats = typeof Transport;

/** @throws (rejects) SandboxError ERR_SANDBOX_UNAVAILABLE, with the command that installs it */
export async function loadNats(
  load: () => Promise<Nats> = () => import("@nats-io/transport-node"),
): Promise<Nats> {
  try {
    return await load();
  } catch (cause) {
    throw new SandboxError(
      "other machines need the package @nats-io/transport-node, which can't be loaded",
      {
        code: "ERR_SANDBOX_UNAVAILABLE",
        fix: "npm install @nats-io/transport-node@3",
        cause,
      },
    );
  }
}
