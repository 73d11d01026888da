/** HTTP/2: a client's streams, each as one of the server's. */

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
} from "node:http2";

import { type Masks, masked } from "../mask.js";
import type { Header } from "../substitution.js";
import { knownEncodings, maskedBody } from "./body.js";
import { Account, type Exchange, guarded, type Line, refusalText, urlWith } from "./exchange.js";

const kEndsStream = constants.NGHTTP2_FLAG_END_STREAM;

/** The fields but for those of the request line. */
function fieldsOf(headers: IncomingHttpHeaders): Header[] {
  return Object.entries(headers).flatMap(([name, value]): Header[] => {
    if (name.startsWith(":") || value === undefined) return [];
    return [value].flat().map((each) => [name, each]);
  });
}

function collected(fields: readonly Header[]): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of fields) {
    const key = name.toLowerCase();
    const known = headers[key];
    headers[key] = known === undefined ? value : [known, value].flat();
  }
  return headers;
}

const maskedFields = (headers: IncomingHttpHeaders, masks: Masks): OutgoingHttpHeaders =>
  collected(fieldsOf(headers).map(([name, value]) => [name, masked(value, masks)]));

function refuse(stream: ServerHttp2Stream, status: number, reason: string): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.headersSent) {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    return;
  }
  stream.respond({ ":status": status, "content-type": "text/plain" });
  stream.end(refusalText(reason));
  stream.resume();
}

function answer(
  from: ClientHttp2Stream,
  headers: IncomingHttpHeaders,
  ends: boolean,
  to: ServerHttp2Stream,
  masks: Masks,
): void {
  const status = Number(headers[":status"] ?? 502);
  const coding = String(headers["content-encoding"] ?? "");
  const fields = maskedFields(headers, masks);
  if (ends) {
    to.respond({ ":status": status, ...fields }, { endStream: true });
    return;
  }
  const passage = maskedBody(from, coding, masks);
  if (passage === undefined) {
    from.close(constants.NGHTTP2_CANCEL);
    refuse(to, 502, `the answer is coded as ${coding}, which can't be looked into`);
    return;
  }
  if (!passage.keepsLength) delete fields["content-length"];
  let trailers: IncomingHttpHeaders | undefined;
  from.on("trailers", (sent: IncomingHttpHeaders) => {
    trailers = sent;
  });
  to.respond({ ":status": status, ...fields }, { waitForTrailers: true });
  // Without any, this ends the stream; close() would reset it.
  const sendTrailers = () =>
    to.sendTrailers(trailers === undefined ? {} : maskedFields(trailers, masks));
  to.on(
    "wantTrailers",
    guarded(sendTrailers, () => to.destroy()),
  );
  passage.body.on("error", () => to.close(constants.NGHTTP2_INTERNAL_ERROR));
  passage.body.pipe(to);
}

async function serve(
  exchange: Exchange,
  host: ClientHttp2Session | undefined,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
): Promise<void> {
  const fields = fieldsOf(headers);
  const named = [headers[":authority"], headers.host].filter((each) => each !== undefined);
  const authority = new Set(named).size === 1 ? named[0] : undefined;
  const line: Line = { method: headers[":method"] ?? "", url: headers[":path"] ?? "", authority };
  const account = new Account(exchange, line);
  stream.on("error", () => {});
  stream.on("close", () => account.close(undefined));
  const decision = await account.decide(fields);
  if (decision.kind === "refuse" || host === undefined) {
    const { status, reason } =
      decision.kind === "refuse" ? decision : { status: 502, reason: "there is no server" };
    account.close(status, reason);
    return refuse(stream, status, reason);
  }
  if (stream.closed) return; // it is told of as refused
  const sent = collected(
    decision.headers.map(([name, value]): Header => {
      return name === "accept-encoding" ? [name, knownEncodings(value)] : [name, value];
    }),
  );
  const endStream = (flags & kEndsStream) !== 0;
  const asked = host.request(
    {
      ":method": line.method,
      ":scheme": "https",
      ":authority": authority,
      ":path": urlWith(line.url, decision.query),
      ...sent,
    },
    { endStream, ...(endStream ? {} : { waitForTrailers: true }) },
  );
  const end = () => {
    asked.destroy();
    stream.destroy();
  };
  asked.on(
    "response",
    guarded((got: IncomingHttpHeaders, gotFlags: number) => {
      account.close(Number(got[":status"]));
      answer(asked, got, (gotFlags & kEndsStream) !== 0, stream, decision.masks);
    }, end),
  );
  asked.on("error", (error) => {
    account.close(502, error.message);
    refuse(stream, 502, `${exchange.name} did not answer: ${error.message}`);
  });
  asked.on("close", () => {
    if (asked.rstCode !== 0 && !stream.closed) stream.close(asked.rstCode);
  });
  stream.on("close", () => {
    if (!asked.closed) asked.close(stream.rstCode || constants.NGHTTP2_CANCEL);
  });
  if (endStream) return;
  let trailers: IncomingHttpHeaders | undefined;
  stream.on("trailers", (got: IncomingHttpHeaders) => {
    trailers = got;
  });
  const sendTrailers = () => asked.sendTrailers(collected(fieldsOf(trailers ?? {})));
  asked.on("wantTrailers", guarded(sendTrailers, end));
  stream.pipe(asked);
}

/** Serves a client that speaks HTTP/2, to a server that does. */
export function serveHttp2(exchange: Exchange): void {
  const { client, host, name, port } = exchange;
  const settings = { enablePush: false, maxConcurrentStreams: 256 };
  const session = performServerHandshake(client, { settings });
  // The session waits for the event of a client's socket; one of a server without a tls.Server has none.
  client.emit("secureConnect");
  let asked: ClientHttp2Session | undefined;
  if (!(host instanceof Error)) {
    asked = connect(`https://${name}:${port}`, {
      createConnection: () => host,
      settings: { enablePush: false },
    });
    asked.on("error", () => session.destroy());
    asked.on("close", () => session.close());
    session.on("close", () => asked?.destroy());
  }
  session.on("error", () => asked?.destroy());
  session.on("stream", (stream, headers, flags) => {
    serve(exchange, asked, stream, headers, flags).catch(() => stream.destroy());
  });
}
