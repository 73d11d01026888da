/** What a forward's connections carry: bytes as they are, both ways, with their ends, and no more of them than is read. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { BubblewrapNativeRunner, type PortForward } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { client, endOf, exchange, kPort, type Mode, request, serve } from "./forwarding.js";

const kMany = 1_000;
const kSlowMs = 120_000;

type Served = Awaited<ReturnType<typeof serve>> & { forward: PortForward };

/** Serves in a sandbox for the time of a test. */
async function withServer(mode: Mode, body: (served: Served) => Promise<void>): Promise<void> {
  const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
  try {
    const served = await serve((input) => runner.spawn(input), mode);
    await body({ ...served, forward: await served.live.forward(kPort) });
  } finally {
    await runner.close();
  }
}

/** Sends a head, and returns all that is answered. */
async function answerTo(forward: PortForward, head: string): Promise<string> {
  const socket = client(forward, false);
  socket.write(head);
  return text(socket);
}

describeSandboxed("a forwarded connection", () => {
  test("passes on an end of file, and the other side goes on", async () => {
    await withServer("echo", async ({ forward, live }) => {
      expect(await exchange(forward, "a text")).toBe("a text 6");
      expect(await exchange(forward, "")).toBe(" 0");
      expect(await exchange(forward, "GET")).toBe("GET 3");
      const { audits } = await live.stop();
      expect(audits[0]?.forwards).toMatchObject([{ connections: 3, bytesIn: 9, bytesOut: 15 }]);
    });
  });

  test("leaves the client writing when the server has ended its side", async () => {
    await withServer("first", async ({ forward }) => {
      const socket = client(forward);
      expect(String((await once(socket, "data"))[0])).toBe("ready\n");
      socket.write("JDWP-Handshake");
      expect(await text(socket)).toBe("JDWP-HANDSHAKE");
      socket.end("more");
    });
  });

  test("carries much unchanged, both ways at once", async () => {
    await withServer("echo", async ({ forward }) => {
      const part = Buffer.alloc(1024 * 1024);
      const sent = createHash("sha256");
      const came = createHash("sha256");
      const socket = client(forward);
      let bytes = 0;
      socket.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        came.update(chunk);
      });
      const total = 64;
      for (let at = 0; at < total; at += 1) {
        part.fill(at + 128);
        sent.update(part);
        if (!socket.write(Buffer.from(part))) await once(socket, "drain");
      }
      socket.end();
      await once(socket, "end");
      const tail = ` ${total * part.length}`;
      sent.update(tail);
      expect(bytes).toBe(total * part.length + tail.length);
      expect(came.digest("hex")).toBe(sent.digest("hex"));
    });
  });

  test("holds the server up when the client does not read", async () => {
    await withServer("source", async ({ forward, screen }) => {
      const socket = client(forward);
      socket.pause();
      const line = await screen.until(/stalled \d+\n/);
      expect(Number(line.match(/\d+/)?.[0])).toBeLessThan(64 * 1024 ** 2);
      socket.resume();
      await once(socket, "data");
      socket.destroy();
    });
  });

  test("is reset when the server resets it", async () => {
    await withServer("reset", async ({ forward }) => {
      const socket = client(forward);
      socket.write("x\n");
      expect(await endOf(socket)).toBe("ECONNRESET");
    });
  });

  test("is one of a thousand at once", { timeout: kSlowMs }, async () => {
    await withServer("echo", async ({ forward, live }) => {
      const all = Array.from({ length: kMany }, () => client(forward));
      const greeted = all.map(async (socket: Socket, at) => {
        socket.write(`\n${at}`);
        let came = "";
        while (came.length < `\n${at}`.length) came += String((await once(socket, "data"))[0]);
        return came;
      });
      expect(await Promise.all(greeted)).toEqual(all.map((_, at) => `\n${at}`));
      // All of them are open now.
      const ends = await Promise.all(
        all.map((socket) => {
          socket.end();
          return text(socket);
        }),
      );
      expect(ends).toEqual(all.map((_, at) => ` ${`\n${at}`.length}`));
      const { audits } = await live.stop();
      expect(audits[0]?.forwards).toMatchObject([{ connections: kMany, refused: 0, failed: 0 }]);
    });
  });

  test("becomes a WebSocket", async () => {
    await withServer("http", async ({ forward }) => {
      const upgrade = httpRequest(`${forward.url}/socket`, {
        headers: {
          Connection: "Upgrade",
          Upgrade: "websocket",
          "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        },
      });
      upgrade.end();
      const [, socket] = (await once(upgrade, "upgrade")) as [unknown, Socket];
      socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
      expect([...(await once(socket, "data"))[0]]).toEqual([0x81, 2, 0x68, 0x69]);
      socket.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
      await once(socket.resume(), "close");
    });
  });
});

describeSandboxed("a request over a forward", () => {
  const websocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n";

  test("that names another host is refused, and nothing reaches the sandbox", async () => {
    await withServer("http", async ({ forward, live, screen }) => {
      const { port } = forward;
      for (const [host, more] of [
        ["evil.example", ""],
        [`evil.example:${port}`, ""],
        ["evil.example", websocket],
        [`localhost:${port - 1}`, ""],
        ["10.0.0.1", ""],
      ] as const) {
        const answer = await answerTo(forward, request(host, "/hello", more));
        expect(answer).toMatch(/^HTTP\/1\.1 421 Misdirected Request\r\n/);
        expect(answer).toContain(`use 127.0.0.1:${port} or localhost`);
      }
      expect(
        await answerTo(forward, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n"),
      ).toMatch(/^HTTP\/1\.1 400 /);
      const tooLong = `GET /hello HTTP/1.1\r\nA: ${"a".repeat(200_000)}\r\n\r\n`;
      expect(await answerTo(forward, tooLong)).toMatch(/^HTTP\/1\.1 431 /);
      // The control: a loopback's name passes.
      for (const host of ["localhost", `localhost:${port}`, `app.localhost:${port}`, "[::1]"])
        expect(await answerTo(forward, request(host))).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      const { audits } = await live.stop();
      expect(screen.text.match(/connection\n/g)).toHaveLength(4);
      expect(audits[0]?.forwards).toMatchObject([{ connections: 11, refused: 7, failed: 0 }]);
    });
  });

  test("is read in pieces as it comes", async () => {
    await withServer("http", async ({ forward, screen }) => {
      for (const [host, status] of [
        ["localhost", 200],
        ["evil.example", 421],
      ] as const) {
        const socket = client(forward, false);
        socket.setNoDelay();
        for (const piece of request(host).match(/[\s\S]{1,9}/g) ?? []) {
          socket.write(piece);
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect(await text(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      }
      await eventually("the server has answered", () => screen.text.includes("connection"));
    });
  });

  test("comes on a connection that was opened ahead of it", async () => {
    await withServer("http", async ({ forward, screen }) => {
      const ahead = [client(forward, false), client(forward, false)];
      await screen.until("connection\n"); // the sandbox has it before a request
      await screen.until("connection\n");
      const [good, evil] = ahead.map((socket, at) => {
        socket.write(request(at === 0 ? "localhost" : "evil.example"));
        return text(socket);
      });
      expect(await good).toMatch(/^HTTP\/1\.1 200 /);
      expect(await evil).toMatch(/^HTTP\/1\.1 421 /);
    });
  });

  test("has a body of any kind", async () => {
    await withServer("http", async ({ forward }) => {
      const body = "a".repeat(300_000);
      const answer = await fetch(`${forward.url}/echo`, { method: "POST", body });
      expect(await answer.text()).toBe(body);
    });
  });
});
