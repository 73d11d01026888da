/** A promise with its resolving functions, as of `Promise.withResolvers`, which Node 20 lacks. */
export type Deferred<Value> = {
  promise: Promise<Value>;
  resolve(value: Value): void;
  reject(reason: unknown): void;
};

export function deferred<Value>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<Value>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

/** Lets any number wait for the next change of something. */
export class Changes {
  #waiting: (() => void)[] = [];

  /** Wakes all that wait now. */
  happened(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves at the next change. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
