/** What tests of forwards share: a server in a sandbox, and clients on the host. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import { Screen } from "../support/live-processes.js";
import { kNodeInSandbox } from "../support/node-arguments.js";
import type { NativeSpawnInput, PortForward, SandboxProcess } from "../support/package.js";

const kServer = readFileSync(fileURLToPath(new URL("server.cjs", import.meta.url)), "utf8");

export const kPort = 8000;

export type Mode = "http" | "echo" | "first" | "source" | "reset";

/** The words that start server.cjs. */
export const serverWords = (mode: Mode, host = "127.0.0.1", port = kPort): string[] => [
  ...kNodeInSandbox,
  "-e",
  kServer,
  mode,
  host,
  String(port),
];

export type Starts = (input: NativeSpawnInput) => Promise<SandboxProcess>;

/** Starts a server, and waits until it listens. */
export async function serve(start: Starts, mode: Mode, host = "127.0.0.1", port = kPort) {
  const live = await start({ argv: serverWords(mode, host, port) });
  const screen = new Screen(live.stdout);
  const listens = await screen.until(/listens \d+\n/);
  return { live, screen, port: Number(listens.split(" ")[1]) };
}

/** A client of a forward, with what it has received once both sides have ended. */
export function client(forward: PortForward, allowHalfOpen = true): Socket {
  const host = new URL(forward.url).hostname.replace(/[[\]]/g, "");
  return connect({ host, port: forward.port, allowHalfOpen });
}

/** Sends a text, ends its side, and returns what came. */
export async function exchange(forward: PortForward, sent: string): Promise<string> {
  const socket = client(forward);
  socket.end(sent);
  return text(socket);
}

/** Returns the code of the error that a client meets; "closed" without one. */
export async function endOf(socket: Socket): Promise<string> {
  socket.resume().once("end", () => socket.end());
  try {
    await once(socket, "close");
    return "closed";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "?";
  }
}

/** What a client meets that connects anew: ECONNREFUSED where nothing listens. */
export const meets = (forward: PortForward): Promise<string> => endOf(client(forward));

/** A request's text. */
export const request = (host: string, path = "/hello", more = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`;
