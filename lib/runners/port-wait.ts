/** Waiting until something in a sandbox listens on a port. The supervisor looks, and keeps the time. */

import type { PortAnswer, RunnerHandle } from "../../types/addon.js";
import type { WaitForPortOptions } from "../../types/live-process.js";
import { fromNative, invalidType } from "../errors.js";
import { checkSignal, onAbort } from "./abort.js";
import { WaitForPortError } from "./wait-for-port-error.js";

/** Why nothing listens; "gone" and "stopped" are the caller's to tell. */
function refusalOf(answer: PortAnswer, port: number, timeoutMs = 30_000) {
  switch (answer) {
    case "timed-out":
      return new WaitForPortError(`nothing listens on port ${port} after ${timeoutMs} ms`, {
        port,
        fix: "see what the server prints, or give it more time with `timeoutMs`",
      });
    case "no-sockets":
      return new WaitForPortError(`nothing can listen on port ${port}: commands have no sockets`, {
        port,
        fix: 'use Bubblewrap, or `network: "allow"`',
      });
    case "unreadable":
      return new WaitForPortError(`the table of sockets can't be read for port ${port}`, {
        port,
        fix: "mount /proc without hidepid for the host application",
      });
    default:
      return undefined;
  }
}

/**
 * Resolves when something listens in the sandbox of the live process `id`, or of the session when it
 * is 0. `ended` makes the error for a process or session that has ended; `options` is checked here.
 */
export async function waitForPort(
  handle: RunnerHandle,
  id: number,
  port: number,
  options: WaitForPortOptions,
  ended: () => Promise<Error>,
): Promise<void> {
  if (typeof options !== "object" || options === null) {
    throw invalidType("options", "an object", options);
  }
  const { timeoutMs, intervalMs } = options;
  const signal = checkSignal(options.signal);
  signal?.throwIfAborted();
  try {
    const wait = handle.waitForPort(id, port, { timeoutMs, intervalMs });
    const unsubscribe = onAbort(signal, () => handle.stopWait(wait.id));
    const answer = await wait.done.finally(unsubscribe);
    if (answer === "listening") return;
    if (answer === "stopped") throw signal?.reason;
    throw refusalOf(answer, port, timeoutMs) ?? (await ended());
  } catch (error) {
    throw fromNative(error);
  }
}
