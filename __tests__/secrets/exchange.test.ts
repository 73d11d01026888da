/** Requests through TLS that ends on the host, by real clients and servers of node:http, node:http2 and node:tls. */

import { connect as connectHttp2, createSecureServer } from "node:http2";
import { createServer as createHttps, request as httpsRequest } from "node:https";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import {
  connect as connectTls,
  createServer as createTls,
  type SecureContext,
  TLSSocket,
} from "node:tls";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { HeldSecret } from "../../lib/secrets/messages.js";
import { placeholderFor } from "../../lib/secrets/placeholder.js";
import { type HttpRuleTarget, readTarget } from "../../lib/secrets/target.js";
import { Authority } from "../../lib/secrets/thread/authority.js";
import { serveConnection } from "../../lib/secrets/thread/connection.js";
import { Desk, RunDesk } from "../../lib/secrets/thread/desk.js";
import type { HttpRequestRecord } from "../../types/network.js";

const kValue = "value-of-the-secret-token";
const kPlaceholder = placeholderFor(kValue);

let ours: Authority;
let theirs: Authority;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([Authority.make(), Authority.make()]);
});

/** What the server got. */
type Got = {
  method: string | undefined;
  url: string | undefined;
  headers: Record<string, unknown>;
  body: string;
};

async function listening(server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
  close(): unknown;
}) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A place between clients and a server, as the supervisor is. Returns its port, and what is told of requests. */
async function between(
  port: number,
  options: {
    secrets?: HeldSecret[];
    roots?: string[];
    rules?: HttpRuleTarget[];
    ask?: (name: string) => Promise<string>;
  } = {},
) {
  const records: HttpRequestRecord[] = [];
  const run = new RunDesk(new Desk(ours, options.roots ?? [theirs.pem]), {
    secrets: options.secrets ?? [secretOf()],
    rules: options.rules ?? [],
    ask: async (name) => ({
      value: await (options.ask ?? (async () => kValue))(name),
      expiresMs: undefined,
    }),
    tell: ({ record }) => records.push(record),
  });
  onTestFinished(() => run.end());
  const sockets = new Set<Socket>();
  const terminator = createServer((client) => {
    const host = connect(port, "127.0.0.1");
    sockets.add(client).add(host);
    serveConnection(run, { client, host, name: "api.test", port: 443, via: "transparent" }).catch(
      () => client.destroy(),
    );
  });
  onTestFinished(() => {
    for (const each of sockets) each.destroy();
  });
  return { port: await listening(terminator), records };
}

const secretOf = (more: Partial<HeldSecret> = {}): HeldSecret => ({
  name: "API_TOKEN",
  placeholder: kPlaceholder,
  targets: [readTarget("api.test", "hosts")],
  placement: { as: "placeholder" },
  value: kValue,
  ...more,
});

/** A server with keys of its own, that says what it got. */
async function echoServer(): Promise<{ port: number; got: Got[] }> {
  const got: Got[] = [];
  const context: SecureContext = await theirs.contextFor("api.test");
  const server = createHttps(
    { SNICallback: (_, done) => done(null, context) },
    (request, response) => {
      let body = "";
      request.setEncoding("latin1").on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        got.push({ method: request.method, url: request.url, headers: request.headers, body });
        const text = `you sent ${request.headers.authorization} to ${request.url}`;
        if (request.headers["accept-encoding"] === "gzip") {
          response.setHeader("content-encoding", "gzip");
          response.end(gzipSync(text));
          return;
        }
        response.setHeader("x-echo", String(request.headers.authorization));
        response.end(text);
      });
    },
  );
  return { port: await listening(server), got };
}

type Answer = { status: number | undefined; headers: Record<string, unknown>; body: Buffer };

function get(port: number, options: Record<string, unknown> = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: "127.0.0.1",
        port,
        servername: "api.test",
        ca: ours.pem,
        agent: false,
        headers: { Host: "api.test" },
        ...options,
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part) => parts.push(part));
        response.on("end", () =>
          resolve({
            status: response.statusCode,
            headers: response.headers,
            body: Buffer.concat(parts),
          }),
        );
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

describe("HTTP/1.1", () => {
  test("the server gets the value, the client never", async () => {
    const { port: server, got } = await echoServer();
    const { port, records } = await between(server);
    const headers = { Host: "api.test", Authorization: `Bearer ${kPlaceholder}`, "X-Case": "kept" };
    const answer = await get(
      port,
      { path: `/a?key=${kPlaceholder}`, method: "POST", headers },
      "body",
    );
    expect(got[0]).toMatchObject({
      method: "POST",
      url: `/a?key=${kValue}`,
      body: "body",
      headers: { authorization: `Bearer ${kValue}` },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe(
      `you sent Bearer ${kPlaceholder} to /a?key=${kPlaceholder}`,
    );
    expect(answer.headers["x-echo"]).toBe(`Bearer ${kPlaceholder}`);
    expect(records).toMatchObject([
      {
        host: "api.test",
        port: 443,
        method: "POST",
        path: "/a",
        status: 200,
        secret: "API_TOKEN",
        verdict: "allowed",
      },
    ]);
  });

  test("a compressed answer has the placeholder too", async () => {
    const { port: server } = await echoServer();
    const { port } = await between(server);
    const { gunzipSync } = await import("node:zlib");
    const headers = { Host: "api.test", Authorization: kPlaceholder, "Accept-Encoding": "gzip" };
    const { body } = await get(port, { headers });
    expect(gunzipSync(body).toString()).toBe(`you sent ${kPlaceholder} to /`);
  });

  test("an answer without a body keeps what it says of one", async () => {
    const { port: server } = await echoServer();
    const { port } = await between(server);
    const headers = { Host: "api.test", Authorization: kPlaceholder, "Accept-Encoding": "gzip" };
    const direct = { headers, method: "HEAD", ca: theirs.pem };
    const [told, passed] = [
      await get(server, direct),
      await get(port, { headers, method: "HEAD" }),
    ];
    expect(passed.status).toBe(200);
    expect(passed.headers["content-encoding"]).toBe("gzip");
    expect(passed.headers["content-length"]).toBe(told.headers["content-length"]);
  });

  test("many requests on one connection", async () => {
    const { port: server, got } = await echoServer();
    const { port } = await between(server);
    const { Agent } = await import("node:https");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (let count = 0; count < 20; count += 1) {
      const { status } = await get(port, {
        agent,
        path: `/${count}`,
        headers: { Host: "api.test", Authorization: kPlaceholder },
      });
      expect(status).toBe(200);
    }
    expect(got).toHaveLength(20);
  });

  test.each<[string, Record<string, unknown>, number]>([
    ["TRACE", { method: "TRACE" }, 405],
    ["another Host", { headers: { Host: "evil.test" } }, 421],
    ["two of them", { headers: ["Host", "api.test", "Host", "evil.test"] }, 421],
    ["a URL of a proxy", { path: "http://evil.test/" }, 400],
  ])("%s is refused, and not asked", async (_, options, status) => {
    const { port: server, got } = await echoServer();
    const { port, records } = await between(server);
    expect((await get(port, options)).status).toBe(status);
    expect(got).toEqual([]);
    expect(records).toMatchObject([{ verdict: "refused", status }]);
  });

  test("a server that does not verify gets nothing", async () => {
    const { port: server, got } = await echoServer();
    const { port } = await between(server, { roots: [ours.pem] });
    const { status, body } = await get(port, {
      headers: { Host: "api.test", Authorization: kPlaceholder },
    });
    expect(status).toBe(502);
    expect(body.toString()).toMatch(/^native-runner: api\.test can't be asked: /);
    expect(got).toEqual([]);
  });

  test("a value that can't be had fails its request alone", async () => {
    const { port: server, got } = await echoServer();
    const { port } = await between(server, {
      secrets: [secretOf({ value: undefined })],
      ask: async () => {
        throw new Error("the vault is closed");
      },
    });
    const { status, body } = await get(port, {
      headers: { Host: "api.test", Authorization: kPlaceholder },
    });
    expect([status, body.toString()]).toEqual([
      502,
      "native-runner: the value of API_TOKEN can't be had at the moment\n",
    ]);
    expect((await get(port)).status).toBe(200);
    expect(got).toHaveLength(1);
  });

  test("a connection that would become HTTP/2 is refused, since its requests are not looked at", async () => {
    const { port: server, got } = await echoServer();
    const { port, records } = await between(server);
    const headers = { Host: "api.test", Connection: "Upgrade", Upgrade: "h2c" };
    const { status } = await get(port, { headers });
    expect(status).toBe(403);
    expect(got).toEqual([]);
    expect(records).toMatchObject([
      { verdict: "refused", reason: expect.stringContaining("another protocol") },
    ]);
  });

  test("an upgraded connection passes both ways, masked", async () => {
    const context = await theirs.contextFor("api.test");
    const upgraded = createHttps({ SNICallback: (_, done) => done(null, context) });
    upgraded.on("upgrade", (request, socket) => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      );
      socket.write(`hello ${request.headers.authorization}\n`);
      socket.on("data", (chunk: Buffer) => socket.write(chunk));
    });
    const { port } = await between(await listening(upgraded));
    const client = connectTls({ host: "127.0.0.1", port, servername: "api.test", ca: ours.pem });
    onTestFinished(() => void client.destroy());
    client.write(
      `GET /socket HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: ${kPlaceholder}\r\n\r\n`,
    );
    let text = "";
    const until = (what: string) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!text.includes(what)) return;
          client.off("data", look);
          resolve();
        };
        client.on("data", look);
        look();
      });
    client.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
    });
    await until("hello");
    client.write("and back\n");
    await until("and back");
    expect(text).toContain(`hello ${kPlaceholder}\n`);
    expect(text).not.toContain(kValue);
  });

  test("nothing but the credential is added to a request, and its fields are as they were sent", async () => {
    const context = await theirs.contextFor("api.test");
    const got: string[][] = [];
    const server = createHttps(
      { SNICallback: (_, done) => done(null, context) },
      (request, response) => {
        got.push(request.rawHeaders);
        response.end();
      },
    );
    const { port } = await between(await listening(server));
    const client = connectTls({ host: "127.0.0.1", port, servername: "api.test", ca: ours.pem });
    onTestFinished(() => void client.destroy());
    const fields = [
      "Host",
      "api.test",
      "x-B",
      "1",
      "x-B",
      "2",
      "X-a",
      kPlaceholder,
      "Cookie",
      "c=d",
    ];
    const lines = fields.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
    client.write(`GET / HTTP/1.1\r\n${lines}\r\n`);
    await new Promise((resolve) => client.once("data", resolve));
    expect(got).toEqual([fields.map((text) => (text === kPlaceholder ? kValue : text))]);
  });

  test.each(["HTTP/1.1 099 Odd\r\n\r\n", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \x01\r\n\r\n"])(
    "a server that says %j ends its own connection alone",
    async (said) => {
      const context = await theirs.contextFor("api.test");
      const odd = createTls({ SNICallback: (_, done) => done(null, context) }, (socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.end(said));
      });
      const { port } = await between(await listening(odd));
      const answer = await get(port).catch(() => ({ status: 0 }));
      expect([0, 502]).toContain(answer.status);
      const { port: server } = await echoServer();
      expect((await get((await between(server)).port)).status).toBe(200);
    },
  );
});

describe("HTTP/2", () => {
  async function http2Server() {
    const got: Record<string, unknown>[] = [];
    const context = await theirs.contextFor("api.test");
    const server = createSecureServer({
      SNICallback: (_: string, done: (error: null, context: SecureContext) => void) =>
        done(null, context),
    });
    server.on("stream", (stream, headers) => {
      got.push(headers);
      stream.respond(
        { ":status": 200, "x-echo": String(headers.authorization) },
        { waitForTrailers: true },
      );
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.write(`you sent ${headers.authorization}, `);
      stream.on("data", (chunk) => stream.write(chunk));
      stream.on("end", () => stream.end());
    });
    return { port: await listening(server), got };
  }

  function session(port: number) {
    const made = connectHttp2("https://api.test", {
      createConnection: () =>
        connectTls({
          host: "127.0.0.1",
          port,
          servername: "api.test",
          ca: ours.pem,
          ALPNProtocols: ["h2"],
        }),
    });
    onTestFinished(() => made.destroy());
    return made;
  }

  function ask(on: ReturnType<typeof session>, headers: Record<string, string>, body = "") {
    return new Promise<{
      headers: Record<string, unknown>;
      trailers: Record<string, unknown>;
      body: string;
    }>((resolve, reject) => {
      const stream = on.request({ ":method": "POST", ":path": "/", ...headers });
      const answer = { headers: {}, trailers: {}, body: "" };
      stream.on("response", (got) => Object.assign(answer.headers, got));
      stream.on("trailers", (got) => Object.assign(answer.trailers, got));
      stream.setEncoding("latin1").on("data", (chunk) => {
        answer.body += chunk;
      });
      stream.on("error", reject).on("end", () => resolve(answer));
      stream.end(body);
    });
  }

  test("the server gets the value, the client never; trailers pass", async () => {
    const { port: server, got } = await http2Server();
    const { port, records } = await between(server);
    const answer = await ask(session(port), { authorization: kPlaceholder }, "body");
    expect(got[0]).toMatchObject({
      authorization: kValue,
      ":authority": expect.stringMatching(/^api\.test(:443)?$/),
    });
    expect(answer).toMatchObject({
      headers: { ":status": 200, "x-echo": kPlaceholder },
      trailers: { "grpc-status": "0" },
      body: `you sent ${kPlaceholder}, body`,
    });
    expect(records).toMatchObject([
      { method: "POST", path: "/", status: 200, secret: "API_TOKEN" },
    ]);
  });

  test("streams that are reset while their answers come end alone", async () => {
    const { port: server } = await http2Server();
    const on = session((await between(server)).port);
    const streams = Array.from({ length: 300 }, (_, at) => {
      const stream = on.request({ ":method": "POST", ":path": `/${at}` });
      stream.on("error", () => {}).resume();
      const ended = new Promise((resolve) => stream.on("close", resolve));
      stream.end("x");
      if (at % 3 === 0) setTimeout(() => stream.close(8), at % 7);
      else if (at % 3 === 1) stream.once("response", () => stream.close(8));
      return ended;
    });
    await Promise.all(streams);
    expect((await ask(on, { authorization: kPlaceholder }, "still")).body).toContain("still");
  });

  test("many streams at once", async () => {
    const { port: server, got } = await http2Server();
    const on = session((await between(server)).port);
    const body = "x".repeat(100_000);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        ask(on, { authorization: kPlaceholder, ":path": `/${at}` }, body),
      ),
    );
    for (const answer of answers) expect(answer.body).toBe(`you sent ${kPlaceholder}, ${body}`);
    expect(got).toHaveLength(50);
  });

  test.each([
    [{ ":method": "TRACE" }, 405],
    [{ ":authority": "evil.test" }, 421],
    [{ host: "evil.test" }, 421],
  ])("%j is refused with %i", async (headers, status) => {
    const { port: server, got } = await http2Server();
    const on = session((await between(server)).port);
    expect((await ask(on, headers as Record<string, string>)).headers).toMatchObject({
      ":status": status,
    });
    expect(got).toEqual([]);
  });

  test("a client that offers both speaks what the server does", async () => {
    const { port: server } = await echoServer();
    const { port } = await between(server);
    const client = connectTls({
      host: "127.0.0.1",
      port,
      servername: "api.test",
      ca: ours.pem,
      ALPNProtocols: ["h2", "http/1.1"],
    });
    onTestFinished(() => void client.destroy());
    await new Promise((resolve) => client.on("secureConnect", resolve));
    expect(client).toBeInstanceOf(TLSSocket);
    expect(client.alpnProtocol).toBe("http/1.1");
  });
});
