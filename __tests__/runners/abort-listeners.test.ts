/** One signal for any number of runs: each hears of it, and they share one listener. */

import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";

import { onAbort } from "../../lib/runners/abort.js";

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

test("calls all, in their order, with one listener", () => {
  const controller = new AbortController();
  const called: number[] = [];
  const warned = vi.fn();
  process.on("warning", warned);
  for (let n = 0; n < 100; n += 1) onAbort(controller.signal, () => called.push(n));
  expect(listenersOf(controller.signal)).toBe(1);
  controller.abort();
  expect(called).toEqual(Array.from({ length: 100 }, (_, n) => n));
  process.off("warning", warned);
  expect(warned).not.toHaveBeenCalled();
});

test("calls nobody who has unsubscribed, also from within a call, and nobody twice", () => {
  const controller = new AbortController();
  const called: string[] = [];
  const same = () => called.push("same");
  const stops = [onAbort(controller.signal, same), onAbort(controller.signal, same)];
  stops[0]?.();
  stops[0]?.(); // a second time is nothing
  onAbort(controller.signal, () => {
    called.push("first");
    later();
  });
  const later = onAbort(controller.signal, () => called.push("later"));
  controller.abort();
  expect(called).toEqual(["same", "first"]);
});

test("leaves nothing at the signal when the last one has unsubscribed, and begins anew", () => {
  const { signal } = new AbortController();
  const stops = [1, 2].map(() => onAbort(signal, () => {}));
  stops[0]?.();
  expect(listenersOf(signal)).toBe(1);
  stops[1]?.();
  expect(listenersOf(signal)).toBe(0);
  onAbort(signal, () => {});
  expect(listenersOf(signal)).toBe(1);
});

test("one that throws keeps nobody else from hearing of it, and is an uncaught error", async () => {
  const controller = new AbortController();
  const called: string[] = [];
  const uncaught = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
  onAbort(controller.signal, () => {
    throw new Error("of the first");
  });
  onAbort(controller.signal, () => called.push("second"));
  controller.abort();
  expect(called).toEqual(["second"]);
  expect(await thrown).toMatchObject({ message: "of the first" });
  for (const each of uncaught) process.on("uncaughtException", each);
});

test("calls at once where the signal is aborted already, and never without one", () => {
  const called = vi.fn();
  onAbort(AbortSignal.abort(), called);
  expect(called).toHaveBeenCalledOnce();
  onAbort(undefined, called)();
  expect(called).toHaveBeenCalledOnce();
});
