import type { Connection } from "../broker/connection.js";

const kTickMs = 50;

/**
 * A caller looks at its runs while it has any; and while somebody waits for one of them the process goes on for it.
 * A session or a transaction that is only open keeps no process, as on one machine.
 */
export class Vigil {
  readonly #connection: Connection;
  readonly #look: () => void;
  readonly #awaited = new Set<object>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param look is called often between {@link begin} and {@link rest}. */
  constructor(connection: Connection, look: () => void) {
    this.#connection = connection;
    this.#look = look;
  }

  /** There are runs. */
  begin(): void {
    this.#connection.use();
    this.#timer = setInterval(this.#look, kTickMs);
    if (this.#awaited.size === 0) this.#timer.unref();
  }

  /** There are none. */
  rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#connection.unuse();
  }

  /** Somebody waits for it, whatever it is. */
  await(what: object): void {
    if (this.#awaited.has(what)) return;
    this.#awaited.add(what);
    if (this.#awaited.size > 1) return;
    this.#timer?.ref();
    this.#connection.hold();
  }

  /** Nobody does. */
  unawait(what: object): void {
    if (!this.#awaited.delete(what) || this.#awaited.size > 0) return;
    this.#timer?.unref();
    this.#connection.release();
  }
}
