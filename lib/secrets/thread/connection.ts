/** Takes a connection over from the supervisor: ends TLS towards both sides, with the protocol that both speak. */

import type { Socket } from "node:net";
import { connect, type SecureContext, TLSSocket } from "node:tls";
import type { AskedRequest } from "../messages.js";
import { offeredProtocols } from "./client-hello.js";
import type { RunDesk } from "./desk.js";
import type { Exchange } from "./exchange.js";
import { serveHttp1 } from "./http1.js";
import { serveHttp2 } from "./http2.js";

/** A client's connection, and one to the host that it named. */
export type Arrived = {
  client: Socket;
  host: Socket;
  name: string;
  port: number;
  via: AskedRequest["via"];
};

const kProtocols: readonly string[] = ["h2", "http/1.1"];
const kHandshakeMs = 60_000;

/** Reads as much as is needed, and puts it back. */
function protocolsOf(client: Socket): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    const settle = (act: () => void) => {
      client.off("readable", read).off("end", gone).off("error", gone);
      act();
    };
    const gone = () => settle(() => reject(new Error("the client went before its handshake")));
    const read = () => {
      for (let chunk = client.read(); chunk !== null; chunk = client.read()) {
        bytes = Buffer.concat([bytes, chunk]);
      }
      try {
        const offered = offeredProtocols(bytes);
        if (offered === undefined) return;
        settle(() => {
          client.unshift(bytes);
          resolve(offered);
        });
      } catch (error) {
        settle(() => reject(error));
      }
    };
    client.on("readable", read).on("end", gone).on("error", gone);
    read();
  });
}

/** Connects as the client would; the server's certificate is verified, whatever the client does. */
function connectTo(host: Socket, name: string, protocols: string[], secureContext: SecureContext) {
  return new Promise<TLSSocket>((resolve, reject) => {
    const socket = connect({
      socket: host,
      servername: name,
      ...(protocols.length > 0 && { ALPNProtocols: protocols }),
      secureContext,
    });
    socket.setTimeout(kHandshakeMs, () => socket.destroy(new Error("its handshake took too long")));
    socket.on("error", reject); // of no effect once it is connected
    socket.once("secureConnect", () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** Serves the connection to its end; rejects if there is nothing to serve. */
export async function serveConnection(
  run: RunDesk,
  { client, host, name, port, via }: Arrived,
): Promise<void> {
  const offered = (await protocolsOf(client)).filter((each) => kProtocols.includes(each));
  const server = await connectTo(host, name, offered, run.desk.context).catch(
    (error: Error) => error,
  );
  if (server instanceof Error) host.destroy();
  const spoken =
    server instanceof Error ? (offered[0] ?? "http/1.1") : server.alpnProtocol || "http/1.1";
  const secured = new TLSSocket(client, {
    isServer: true,
    secureContext: await run.desk.authority.contextFor(name),
    ...(offered.length > 0 && { ALPNProtocols: [spoken] }),
  });
  secured.on("error", () => secured.destroy());
  // Its handle has a session only then.
  await new Promise<void>((resolve, reject) => {
    secured.once("secure", resolve).once("close", () => reject(new Error("no handshake")));
  });
  const exchange: Exchange = { run, via, name, port, client: secured, host: server };
  secured.once(
    "close",
    run.atEnd(() => secured.destroy()),
  );
  if (spoken === "h2") serveHttp2(exchange);
  else serveHttp1(exchange);
}
