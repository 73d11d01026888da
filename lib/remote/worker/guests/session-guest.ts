import type { WaitForPortOptions } from "../../../../types/public.js";
import type { NativeSession, SessionOptions } from "../../../../types/session.js";
import { errorShape } from "../../wire/errors.js";
import { type Guest, type GuestEnd, type Host, kDropped, type Place } from "../guest.js";

/** What sessions are opened in. */
export type SessionPlace = { openSession(options: SessionOptions): Promise<NativeSession> };

/** A session: it lasts until its caller closes it, or is gone, or its own options end it. */
export class SessionGuest implements Guest {
  readonly done: Promise<GuestEnd>;
  #session: NativeSession | undefined;
  #isAborted = false;
  #why: string | undefined;
  place: Place | undefined;

  constructor(runner: SessionPlace, options: SessionOptions, host: Host) {
    if (host.isAborted()) this.abort();
    this.done = this.#run(runner, options, host);
  }

  abort(): void {
    this.#isAborted = true;
    void this.#session?.close().catch(() => {}); // `done` waits for its end
  }

  drop(): void {
    this.#why = kDropped;
    this.abort();
  }

  receive(): void {}

  async call(operation: string, args: readonly unknown[]): Promise<unknown> {
    const session = this.#session;
    if (session === undefined) throw new Error("the session has not been opened");
    if (operation === "close") return session.close();
    if (operation !== "waitForPort") {
      throw new TypeError(`there is no operation ${operation} on a session`);
    }
    const [port, options] = args as [number, WaitForPortOptions?];
    return session.waitForPort(port, options);
  }

  async #run(runner: SessionPlace, options: SessionOptions, host: Host): Promise<GuestEnd> {
    const nothing = { sent: [0, 0] as [number, number], rest: [] };
    try {
      const session = await runner.openSession(options);
      this.#session = session;
      if (this.#isAborted) {
        await session.close();
        return { value: await session.ended, ...nothing };
      }
      this.place = {
        exec: (input) => session.exec(input),
        spawn: (input) => session.start(input),
      };
      host.began({ layers: session.layers, shares: session.shares });
      const reason = await session.ended;
      return { value: this.#why ?? reason, ...nothing };
    } catch (error) {
      return { error: errorShape(error), ...nothing };
    }
  }
}
