/**
 * One connection to the broker, for all that speaks over it. It comes up by itself, again and again; who uses it is
 * told when it has gone and when it is back. Belongs to one JavaScript thread.
 */

import type * as Transport from "@nats-io/transport-node";

import type { ConnectionOptions, Msg, NatsConnection, Subscription } from "@nats-io/transport-node";

import { SandboxError } from "../../errors.js";

const kReconnectMs = 250;
const kConnectMs = 5_000;
/** A broker that says nothing for two of these is taken for gone. */
const kPingMs = 10_000;

/** The longest message is a piece of a frame; see wire/outbox.ts. */
const kLeastPayload = 257 * 1024;

/** What was received: the bytes, or the broker's word that nobody was there to hear what was sent. */
export type Received = { subject: string; data: Uint8Array; isNobody: boolean };

/** Who listens to a connection. */
export type Listener = {
  /**
   * It is there, for the first time or again: say anew what others should know.
   * @param isNew nothing is subscribed to.
   */
  connected?(isNew: boolean): void;
  disconnected?(): void;
  /** It is over for good: the broker refuses us. */
  failed?(error: Error): void;
};

type Handle = { ref(): void; unref(): void };

function isHandle(value: unknown): value is Handle {
  const { ref, unref } = (value ?? {}) as Partial<Handle>;
  return typeof ref === "function" && typeof unref === "function";
}

/**
 * What keeps the process going for a connection of the client's, which it does not show: the socket, and the timer
 * of its next ping. Empty where that has changed.
 */
function handlesOf(connection: NatsConnection): Handle[] {
  type Inner = { transport?: { socket?: unknown }; heartbeats?: { timer?: unknown } };
  const { transport, heartbeats } = (connection as unknown as { protocol?: Inner }).protocol ?? {};
  return [transport?.socket, heartbeats?.timer].filter(isHandle);
}

/** What the broker will not change its mind about. */
function isRefusal(error: unknown): boolean {
  const name = (error as Error | undefined)?.name ?? "";
  return /Authorization|Authentication|InvalidArgument|PermissionViolation/.test(name);
}

function refusal(cause: unknown): SandboxError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SandboxError(`the broker refuses the connection: ${reason}`, {
    code: "ERR_SANDBOX_UNAVAILABLE",
    fix: "check `servers`, `credentials` and `tls`",
    cause,
  });
}

/** What is wrong with a broker that has let us in. */
function unfit({ info }: NatsConnection): SandboxError | undefined {
  const most = info?.max_payload ?? kLeastPayload;
  if (most >= kLeastPayload) return undefined;
  return new SandboxError(
    `the broker takes no message of more than ${most} bytes, and ${kLeastPayload} are needed`,
    { code: "ERR_SANDBOX_UNAVAILABLE", fix: "raise `max_payload` in its configuration" },
  );
}

/** What says where the broker is, and who we are there. */
type Access = { connectionOptions(nats: Nats): Promise<ConnectionOptions> };

const kOptions: ConnectionOptions = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: kReconnectMs,
  reconnectJitter: kReconnectMs / 2,
  timeout: kConnectMs,
  pingInterval: kPingMs,
  maxPingOut: 2,
  noAsyncTraces: true,
};

/** {@link open} connects. */
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

  /** Why it is over; undefined while it is not. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Connects, or goes on trying to; resolves when it is there, or over. */
  open(): Promise<void> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** What is said while it is gone may be lost, or be sent when it is back; after its end it is nothing. */
  publish(subject: string, data: Uint8Array, reply?: string): void {
    if (this.#connection === undefined || this.#connection.isClosed()) return;
    this.#connection.publish(subject, data, reply === undefined ? undefined : { reply });
  }

  /** @param queue only one of those who subscribe with it gets each message. */
  subscribe(subject: string, receive: (message: Received) => void, queue?: string): () => void {
    const subscription: Subscription | undefined = this.#connection?.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error: Error | null, message: Msg) => {
        if (error) return; // a permission that we lack shows as an error of the connection
        const isNobody = message.data.length === 0 && message.headers?.code === 503;
        try {
          receive({ subject: message.subject, data: message.data, isNobody });
        } catch (cause) {
          // The client would stop reading, and say nothing: a fault of ours is to end the process.
          setImmediate(() => {
            throw cause;
          });
        }
      },
    });
    return () => subscription?.unsubscribe();
  }

  /** While somebody uses it, it is tried again when it is lost; each `use` has its `unuse`. */
  use(): void {
    this.#uses += 1;
    void this.open();
  }

  unuse(): void {
    this.#uses -= 1;
    if (!this.#isConnected) this.#sleep();
  }

  /** While somebody waits for something the process goes on for it; each `hold` has its `release`. */
  hold(): void {
    if (++this.#holds === 1) this.#keep();
  }

  release(): void {
    if (--this.#holds === 0) this.#keep();
  }

  /** Sends what waits, and ends it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isConnected = false;
    if (this.#connection === undefined) return;
    if (!this.#connection.isClosed()) await this.#connection.flush().catch(() => {});
    await this.#connection.close();
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
    for (const listener of [...this.#listeners]) listener.connected?.(true);
  }

  async #watch(connection: NatsConnection): Promise<void> {
    void connection.closed().then((error) => {
      if (connection !== this.#connection) return; // it sleeps
      this.#isConnected = false;
      if (!this.#isClosed) this.#fail(refusal(error ?? new Error("it was closed")));
    });
    for await (const { type } of connection.status()) {
      if (connection !== this.#connection) return;
      if (type === "reconnect") {
        this.#isConnected = true;
        this.#keep();
        for (const listener of [...this.#listeners]) listener.connected?.(false);
      } else if (type === "disconnect") {
        this.#isConnected = false;
        for (const listener of [...this.#listeners]) listener.disconnected?.();
        this.#sleep();
      } else if (type === "ping") this.#keep(); // there is another timer now
    }
  }

  #keep(): void {
    if (this.#connection === undefined) return;
    for (const handle of handlesOf(this.#connection)) {
      if (this.#holds > 0) handle.ref();
      else handle.unref();
    }
  }

  /** Nobody uses what is lost: the client would try again, and keep the process for that. */
  #sleep(): void {
    const connection = this.#connection;
    const isOver = this.#isClosed || this.#failure !== undefined;
    if (connection === undefined || this.#uses + this.#holds > 0 || isOver) return;
    this.#connection = undefined;
    this.#opening = undefined;
    void connection.close().catch(() => {});
  }

  /** Holds the process where somebody waits for the connection. */
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

/** The client of NATS: an optional peer, loaded by what speaks with other machines alone. */

/** What there is of it. */
type Nats = typeof Transport;

/** @throws (rejects) SandboxError ERR_SANDBOX_UNAVAILABLE, with the line that installs it. */
async function loadNats(
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
