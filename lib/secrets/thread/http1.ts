/** HTTP/1.1, with keep-alive, upgrades, trailers and 100-continue: one server's connection for each client's. */

import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request as makeRequest,
  ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

import { MaskingStream, type Masks, masked, ofSameLength } from "../mask.js";
import type { Header } from "../substitution.js";
import { knownEncodings, maskedBody } from "./body.js";
import type { Decision } from "./desk.js";
import { Account, type Exchange, guarded, type Line, refusalText, urlWith } from "./exchange.js";

type Sent = Extract<Decision, { kind: "send" }>;

/** The exchange of each client's connection, and what asks its host. */
type Served = { exchange: Exchange; agent: Agent; answers: Set<ServerResponse>; isOver: boolean };
const served = new WeakMap<object, Served>();

/** Has the one connection that there is. */
class OneConnection extends Agent {
  #socket: TLSSocket | undefined;

  constructor(socket: TLSSocket) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#socket = socket;
  }

  override createConnection(
    _options: object,
    done?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | undefined {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) {
      done?.(new Error("the server has closed the connection"), undefined as never);
    }
    return socket;
  }
}

function pairsOf(raw: readonly string[]): Header[] {
  const pairs: Header[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return pairs;
}

const flat = (headers: readonly Header[]): string[] => headers.flat();
const isNamed =
  (name: string) =>
  ([each]: Header) =>
    each.toLowerCase() === name;

function lineOf(request: IncomingMessage, headers: readonly Header[]): Line {
  const hosts = headers.filter(isNamed("host"));
  const authority = hosts.length === 1 ? hosts[0]?.[1] : undefined;
  return { method: request.method ?? "", url: request.url ?? "", authority };
}

function refuse(response: ServerResponse, status: number, reason: string): void {
  if (response.headersSent) return void response.destroy();
  const text = refusalText(reason);
  const headers = { "Content-Type": "text/plain", "Content-Length": Buffer.byteLength(text) };
  response.writeHead(status, { ...headers, Connection: "close" });
  response.end(text);
}

const kNoMasks: Masks = new Map();
/** Statuses of answers without a body. */
const kEmpty: readonly number[] = [204, 304];

/** Answers with what the server says, masked. */
function answer(from: IncomingMessage, response: ServerResponse, masks: Masks): void {
  const headers = pairsOf(from.rawHeaders);
  const coding = headers.find(isNamed("content-encoding"))?.[1] ?? "";
  const isEmpty = response.req.method === "HEAD" || kEmpty.includes(from.statusCode ?? 0);
  const passage = maskedBody(from, coding, isEmpty ? kNoMasks : masks);
  if (passage === undefined) {
    from.destroy();
    refuse(response, 502, `the answer is coded as ${coding}, which can't be looked into`);
    return;
  }
  const kept = headers
    .filter((header) => passage.keepsLength || !isNamed("content-length")(header))
    .map(([name, value]): Header => [name, masked(value, masks)]);
  response.sendDate = false;
  response.writeHead(from.statusCode ?? 502, masked(from.statusMessage ?? "", masks), flat(kept));
  passage.body.on("error", () => response.destroy());
  passage.body.pipe(response, { end: false });
  passage.body.on("end", () => {
    const trailers = pairsOf(from.rawTrailers);
    if (trailers.length > 0) {
      response.addTrailers(
        trailers.map(([name, value]): [string, string] => [name, masked(value, masks)]),
      );
    }
    response.end();
  });
}

function ask({ agent }: Served, line: Line, { headers, query }: Sent) {
  const sent = headers.map(([name, value]): Header => {
    return name.toLowerCase() === "accept-encoding" ? [name, knownEncodings(value)] : [name, value];
  });
  const path = urlWith(line.url, query);
  const request = makeRequest({ agent, method: line.method, path, setHost: false });
  request.removeHeader("connection"); // Node would add its own
  for (const [name, value] of sent) request.appendHeader(name, value);
  return request;
}

/** Ends the client's connection once the server's has ended, and everything that came is passed on. */
function endIfOver({ isOver, answers, exchange }: Served): void {
  if (isOver && answers.size === 0) exchange.client.end();
}

/** Passes the answer of a request on, or tells that there is none. */
function passOn(
  { exchange }: Served,
  asked: ClientRequest,
  account: Account,
  response: ServerResponse,
  masks: Masks,
): void {
  const pass = (from: IncomingMessage) => {
    account.close(from.statusCode);
    answer(from, response, masks);
  };
  asked.on(
    "response",
    guarded(pass, () => exchange.client.destroy()),
  );
  asked.on("error", (error) => {
    account.close(502, error.message);
    refuse(response, 502, `${exchange.name} did not answer: ${error.message}`);
  });
}

async function serve(
  at: Served,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const headers = pairsOf(request.rawHeaders);
  const line = lineOf(request, headers);
  const account = new Account(at.exchange, line);
  at.answers.add(response);
  response.on("error", () => response.destroy());
  response.on("close", () => {
    account.close(undefined);
    at.answers.delete(response);
    endIfOver(at);
  });
  const decision = await account.decide(headers);
  if (decision.kind === "refuse") return refuse(response, decision.status, decision.reason);
  if (response.destroyed) return; // it is told of as refused
  const asked = ask(at, line, decision);
  asked.on("continue", () => response.writeContinue());
  passOn(at, asked, account, response, decision.masks);
  response.on("close", () => {
    if (!response.writableFinished) asked.destroy();
  });
  if (request.headers.expect !== undefined) asked.flushHeaders();
  request.pipe(asked, { end: false });
  request.on("end", () => {
    const trailers = pairsOf(request.rawTrailers);
    if (trailers.length > 0)
      asked.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]));
    asked.end();
  });
  request.on("aborted", () => asked.destroy());
}

const isNoExtension = ([name]: Header) => name.toLowerCase() !== "sec-websocket-extensions";

async function upgrade(
  at: Served,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const headers = pairsOf(request.rawHeaders);
  const line = { ...lineOf(request, headers), becomes: request.headers.upgrade ?? "" };
  const account = new Account(at.exchange, line);
  const response = new ServerResponse(request);
  response.assignSocket(socket as TLSSocket);
  response.on("finish", () => socket.end());
  const decision = await account.decide(headers);
  if (decision.kind === "refuse") return refuse(response, decision.status, decision.reason);
  const masks = ofSameLength(decision.masks);
  // What an extension compresses could not be looked into.
  const sent = masks.size === 0 ? decision.headers : decision.headers.filter(isNoExtension);
  const asked = ask(at, line, { ...decision, headers: sent });
  passOn(at, asked, account, response, masks);
  const become = (from: IncomingMessage, host: Duplex, first: Buffer) => {
    account.close(from.statusCode);
    response.detachSocket(socket as TLSSocket);
    const lines = pairsOf(from.rawHeaders).map(
      ([name, value]) => `${name}: ${masked(value, masks)}\r\n`,
    );
    socket.write(`HTTP/1.1 101 ${from.statusMessage}\r\n${lines.join("")}\r\n`);
    const back = new MaskingStream(masks);
    back.pipe(socket);
    back.write(first);
    host.pipe(back);
    host.write(head);
    socket.pipe(host);
    socket.on("close", () => host.destroy());
    host.on("close", () => back.end());
  };
  asked.on(
    "upgrade",
    guarded(become, () => at.exchange.client.destroy()),
  );
  asked.end();
}

const kNoTimeouts = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 };
const server = createServer({ ...kNoTimeouts, requireHostHeader: false });

function dispatch(request: IncomingMessage, response: ServerResponse): void {
  const at = served.get(request.socket);
  if (at === undefined) return void request.socket.destroy();
  serve(at, request, response).catch(() => request.socket.destroy());
}
server.on("request", dispatch);
server.on("checkContinue", dispatch);
server.on("checkExpectation", dispatch);
server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
  const at = served.get(socket);
  if (at === undefined) return void socket.destroy();
  upgrade(at, request, socket, head).catch(() => socket.destroy());
});
server.on("connect", (request: IncomingMessage, socket: Duplex) => {
  const at = served.get(socket);
  const url = request.url ?? "";
  if (at !== undefined)
    new Account(at.exchange, { method: "CONNECT", url, authority: url }).close(405, "CONNECT");
  socket.end("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
});
server.on("clientError", (_error, socket) => {
  const at = served.get(socket);
  const reason = "the request is malformed";
  if (at === undefined || !socket.writable) return void socket.destroy();
  new Account(at.exchange, { method: "", url: "", authority: undefined }).close(400, reason);
  const text = refusalText(reason);
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
  );
});

/** Serves a client that speaks HTTP/1.1. */
export function serveHttp1(exchange: Exchange): void {
  const { client, host } = exchange;
  const agent: Agent = host instanceof Error ? new Agent() : (new OneConnection(host) as Agent);
  const at: Served = { exchange, agent, answers: new Set(), isOver: false };
  served.set(client, at);
  if (!(host instanceof Error)) {
    client.on("close", () => host.destroy());
    host.on("close", () => {
      at.isOver = true;
      endIfOver(at);
    });
  }
  server.emit("connection", client);
}
