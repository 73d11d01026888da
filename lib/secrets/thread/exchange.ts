/** A connection between a client inside and the host that it named, both with TLS that ends here. */

import type { TLSSocket } from "node:tls";
import type { AskedRequest } from "../messages.js";
import type { Header, Request } from "../substitution.js";
import { normalisedPath } from "../target.js";
import type { Decision, RunDesk } from "./desk.js";

/** What both protocols need to serve a connection. */
export type Exchange = {
  run: RunDesk;
  via: AskedRequest["via"];
  name: string;
  port: number;
  client: TLSSocket;
  /** Connected and verified; an error: why there is none, as a clause. */
  host: TLSSocket | Error;
};

/** A request line, as both protocols have it. */
export type Line = {
  method: string;
  url: string;
  authority: string | undefined;
  /** The protocol that the connection is to become; undefined: it stays what it is. */
  becomes?: string;
};

/** What is no HTTP any more, and holds no requests that rules would be for. */
const kMayBecome = "websocket";

export type Refusal = { status: number; reason: string };

/** Why no server is asked: what is not looked at is not let through. */
export function lineFault(
  { name, port }: Exchange,
  { method, url, authority, becomes = kMayBecome }: Line,
): Refusal | undefined {
  if (becomes.toLowerCase() !== kMayBecome) {
    return { status: 403, reason: "it becomes another protocol, which nothing looks into" };
  }
  if (method === "TRACE" || method === "CONNECT") {
    return { status: 405, reason: `${method} is not passed on to ${name}` };
  }
  const own = [name, `${name}:${port}`];
  if (authority === undefined || !own.includes(authority.toLowerCase())) {
    const other = authority === undefined ? "names no host, or two" : `is to ${authority}`;
    return { status: 421, reason: `the connection is to ${name}, and the request ${other}` };
  }
  if (!url.startsWith("/") && !(url === "*" && method === "OPTIONS")) {
    return { status: 400, reason: "the request names no path" };
  }
  return undefined;
}

export function requestOf(
  { name, port }: Exchange,
  { url }: Line,
  headers: readonly Header[],
): Request {
  const mark = url.indexOf("?");
  const rawPath = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  return { host: name, port, path: normalisedPath(rawPath), rawPath, query, headers };
}

/** The URL with another query. */
export function urlWith(url: string, query: string): string {
  const mark = url.indexOf("?");
  if (mark < 0) return query === "" ? url : `${url}?${query}`;
  return `${url.slice(0, mark)}?${query}`;
}

/** Keeps what is told of a request until it is answered. */
export class Account {
  readonly #exchange: Exchange;
  readonly #line: Line;
  readonly #began = performance.now();
  readonly #leave: () => void;
  #isClosed = false;
  /** undefined: not decided yet. */
  #decision: Decision | undefined;

  constructor(exchange: Exchange, line: Line) {
    this.#exchange = exchange;
    this.#line = line;
    this.#leave = exchange.run.atEnd(() => this.close(undefined));
  }

  /** Decides about the request; an Error in the host's place is a refusal. */
  async decide(headers: readonly Header[]): Promise<Decision> {
    this.#decision = await this.#decided(headers);
    if (this.#decision.kind === "refuse") this.close(this.#decision.status, this.#decision.reason);
    return this.#decision;
  }

  async #decided(headers: readonly Header[]): Promise<Decision> {
    const { run, name, host, via } = this.#exchange;
    const refusal = { kind: "refuse", secret: undefined, isMisuse: false } as const;
    if (run.hasEnded) return { ...refusal, status: 503, reason: "its run has ended" };
    const fault = lineFault(this.#exchange, this.#line);
    if (fault !== undefined) return { ...refusal, ...fault };
    const request = requestOf(this.#exchange, this.#line, headers);
    const decision = await run.decide(this.#line.method, request, via);
    if (run.hasEnded) return { ...refusal, status: 503, reason: "its run has ended" };
    if (decision.kind === "refuse" || !(host instanceof Error)) return decision;
    return { ...refusal, status: 502, reason: `${name} can't be asked: ${host.message}` };
  }

  /** Tells of the request, once. `reason`: why it was refused, or got no answer. */
  close(status: number | undefined, reason?: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#leave();
    const { name, port, run } = this.#exchange;
    const { method, url } = this.#line;
    const decision = this.#decision;
    const rule = decision?.kind === "send" ? decision.rule : undefined;
    const record = {
      host: name,
      port,
      method,
      path: url.split("?", 1)[0] ?? "",
      ...(status !== undefined && { status }),
      ...(decision?.secret !== undefined && { secret: decision.secret }),
      verdict: decision?.kind === "send" ? ("allowed" as const) : ("refused" as const),
      ...(rule !== undefined && { rule }),
      ...(reason !== undefined && { reason }),
      durationMs: Math.round((performance.now() - this.#began) * 1000) / 1000,
    };
    run.tell({ record, isMisuse: decision?.kind === "refuse" && decision.isMisuse });
  }
}

/** What a refused request is answered. */
export const refusalText = (reason: string): string => `native-runner: ${reason}\n`;

/**
 * Returns a listener that ends the exchange by `end` where `act` throws: what a peer sends at a moment that nobody waits
 * for must not end the thread, and with it all that others have.
 */
export const guarded =
  <Arguments extends unknown[]>(act: (...args: Arguments) => void, end: () => void) =>
  (...args: Arguments): void => {
    try {
      act(...args);
    } catch {
      end();
    }
  };
