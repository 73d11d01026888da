/** Forwards: ports of the host's loopback that lead to a sandbox. The supervisor listens and relays. */

import { readdir, readFile, readlink } from "node:fs/promises";
import { getSystemErrorMap } from "node:util";

import type { ForwardAnswer, RunnerHandle } from "../../types/addon.js";
import type { ForwardOptions, PortForward } from "../../types/public.js";
import { ForwardError, fromNative } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";

const kFields: FieldsOf<ForwardOptions> = { host: true, hostPort: true };

const kMostForwards = 64;

/** Returns the answer as an error, but for "open" and "gone". */
async function refusalOf(answer: ForwardAnswer, port: number, wanted: number) {
  const refusal = (message: string, fix?: string) => new ForwardError(message, { port, fix });
  switch (answer.state) {
    case "no-sockets":
      return refusal(
        `port ${port} can't be forwarded: commands have no sockets`,
        'use Bubblewrap, or `network: "allow"`',
      );
    case "own-port":
      return refusal(
        `port ${port} can't be forwarded: the sandbox's network by domain itself listens there`,
        "let the server listen on another port",
      );
    case "loop":
      return refusal(
        `port ${port} can't be forwarded from port ${wanted} of the host: the sandbox has the host's network, so they are one port`,
        "leave `hostPort` out, or use the port as it is",
      );
    case "too-many":
      return refusal(
        `port ${port} can't be forwarded: the sandbox has ${kMostForwards} forwards`,
        "close one of them",
      );
    case "port-taken": {
      const holder = await holderOf(wanted).catch(() => undefined);
      return refusal(
        `port ${wanted} of the host is taken${holder === undefined ? "" : ` by ${holder}`}`,
        "choose another `hostPort`, or leave it out for a free one",
      );
    }
    default: {
      const why = getSystemErrorMap().get(-answer.errno)?.join(": ") ?? `errno ${answer.errno}`;
      const from = wanted === 0 ? "" : ` from port ${wanted} of the host`;
      return refusal(`port ${port} can't be forwarded${from}: ${why}`);
    }
  }
}

/**
 * Makes a port of the host lead to one in the sandbox of the live process `id`, or of the session if `id` is 0. The
 * result refers to the handle. `ended` creates the error for a process or session that has ended.
 */
export async function openForward(
  handle: RunnerHandle,
  id: number,
  port: number,
  options: ForwardOptions,
  ended: () => Promise<Error>,
): Promise<PortForward> {
  expectFields(options, "options", kFields);
  const { host, hostPort } = options;
  try {
    const answer = await handle.forward(id, port, { host, hostPort });
    if (answer.state === "gone") throw await ended();
    if (answer.state !== "open") throw await refusalOf(answer, port, hostPort ?? 0);
    return new OpenForward(host === "::1" ? "[::1]" : "127.0.0.1", answer.hostPort, async () => {
      await handle.closeForward(id, answer.number);
    });
  } catch (error) {
    throw fromNative(error);
  }
}

class OpenForward implements PortForward {
  readonly url: string;
  readonly port: number;
  readonly #close: () => Promise<void>;
  #closed: Promise<void> | undefined;

  constructor(host: string, port: number, close: () => Promise<void>) {
    this.url = `http://${host}:${port}`;
    this.port = port;
    this.#close = close;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Finds what listens on a port of the host, for an error. */

const kListens = "0A"; // TCP_LISTEN in /proc/net/tcp
const kMostLookedAt = 50_000;

/** Returns "process 12 (node)" for what listens on a TCP port, as far as this user may see it. */
async function holderOf(port: number): Promise<string | undefined> {
  const sockets = new Set<string>();
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const text = await readFile(table, "utf8").catch(() => "");
    for (const line of text.split("\n").slice(1)) {
      const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === kListens && local.endsWith(`:${wanted}`)) sockets.add(`socket:[${inode}]`);
    }
  }
  if (sockets.size === 0) return undefined;
  let looked = 0;
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const descriptors = await readdir(`/proc/${entry}/fd`).catch(() => []);
    for (const descriptor of descriptors) {
      looked += 1;
      if (looked > kMostLookedAt) return undefined;
      const leads = await readlink(`/proc/${entry}/fd/${descriptor}`).catch(() => "");
      if (!sockets.has(leads)) continue;
      const name = await readFile(`/proc/${entry}/comm`, "utf8").catch(() => "");
      const shown = `process ${entry} (${name.trim()})`;
      return entry === String(process.pid) ? `this process, ${shown}` : shown;
    }
  }
  return undefined;
}
