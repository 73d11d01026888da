/**
 * The two ways to end a run from JavaScript: the caller's AbortSignal, and a streaming callback that throws.
 */

import { addAbortListener, setMaxListeners } from "node:events";

import type { NativeExecInput } from "../../types/public.js";
import { invalidType } from "../errors.js";

/**
 * Returns the input's signal, if it has one.
 * @throws TypeError naming `signal` if it is not an AbortSignal (of any realm).
 */
export function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined) return undefined;
  const like = Object(signal) as Partial<AbortSignal>;
  if (
    typeof signal !== "object" ||
    typeof like.aborted !== "boolean" ||
    typeof like.addEventListener !== "function" ||
    typeof like.removeEventListener !== "function"
  ) {
    throw invalidType("signal", "an AbortSignal", signal);
  }
  return signal as AbortSignal;
}

/** What is called when a signal is aborted, in the order in which it was asked for; with one listener for all. */
class AbortListeners {
  static readonly #all = new WeakMap<AbortSignal, AbortListeners>();
  readonly #signal: AbortSignal;
  readonly #listeners = new Set<{ abort: () => void }>();
  readonly #subscription: Disposable;

  static of(signal: AbortSignal): AbortListeners {
    const known = AbortListeners.#all.get(signal);
    if (known !== undefined) return known;
    const listeners = new AbortListeners(signal);
    AbortListeners.#all.set(signal, listeners);
    return listeners;
  }

  private constructor(signal: AbortSignal) {
    this.#signal = signal;
    if (signal instanceof EventTarget) setMaxListeners(0, signal); // sessions and others add theirs
    this.#subscription = addAbortListener(signal, () => this.#call()); // others can't stop the event
  }

  add(abort: () => void): () => void {
    const listener = { abort };
    this.#listeners.add(listener);
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      this.#subscription[Symbol.dispose]();
      AbortListeners.#all.delete(this.#signal);
    };
  }

  #call(): void {
    AbortListeners.#all.delete(this.#signal);
    for (const listener of this.#listeners) {
      try {
        listener.abort();
      } catch (error) {
        queueMicrotask(() => {
          throw error; // as an event target does: the others hear of it all the same
        });
      }
    }
    this.#listeners.clear();
  }
}

/**
 * Calls `abort` when the signal is aborted, at once if it already is; returns a function that unsubscribes. One signal may
 * serve any number of runs: a listener of each would be compared with all before it.
 */
export function onAbort(signal: AbortSignal | undefined, abort: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    abort();
    return () => {};
  }
  return AbortListeners.of(signal).add(abort);
}

/** Waits no longer than until the signal is aborted; undefined: not at all. Takes any value for a signal, and never rejects. */
export function untilAborted(
  waits: Promise<void> | undefined,
  signal: unknown,
): Promise<void> | undefined {
  if (waits === undefined || !(signal instanceof AbortSignal)) return waits;
  if (signal.aborted) return undefined;
  return new Promise((resolve) => {
    const unsubscribe = onAbort(signal, resolve);
    void waits.finally(() => {
      unsubscribe();
      resolve();
    });
  });
}

type Callback = NonNullable<NativeExecInput["onStdout"]>;

/** The callbacks of one run, wrapped so that they never throw into the addon. */
export class Callbacks {
  #abort: (() => void) | undefined;
  #thrown: { error: unknown } | undefined;

  /**
   * Returns the callback to pass to the addon: the first throw of any callback ends the run and silences all
   * of them.
   * @throws TypeError naming `field` if it is not a function.
   */
  wrap(callback: unknown, field: "onStdout" | "onStderr"): Callback | undefined {
    if (callback === undefined) return undefined;
    if (typeof callback !== "function") {
      throw invalidType(field, "a function", callback);
    }
    const call = callback as Callback;
    return (chunk) => {
      if (this.#thrown) return;
      try {
        call(chunk);
      } catch (error) {
        this.#thrown = { error };
        this.#abort?.();
      }
    };
  }

  /** Ends the run; set as soon as the run exists, before any callback can be called. */
  set abort(abort: () => void) {
    this.#abort = abort;
  }

  /** Throws the error of a callback, if one threw. */
  rethrow(): void {
    if (this.#thrown) throw this.#thrown.error;
  }
}
