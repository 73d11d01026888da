// A server in a sandbox: MODE HOST PORT. Says "listens" and its port, then "connection" for each that it accepts.
//   http: "hello" for /hello, what it was sent for /echo; upgrades to WebSocket, and echoes short texts.
//   echo: sends back what comes; at the client's end of file the number of bytes, and ends.
//   first: greets, then sends back one word in capitals.
//   source: sends bytes without an end, and says how many the kernel took once it takes no more.
//   reset: resets each connection when it has sent something.
const { createHash } = require("node:crypto");
const http = require("node:http");
const net = require("node:net");

const [mode, host, port] = process.argv.slice(1);
const say = (line) => process.stdout.write(`${line}\n`);

const kModes = {
  echo: (socket) => {
    let bytes = 0;
    socket.on("data", (chunk) => {
      bytes += chunk.length;
      if (!socket.write(chunk)) {
        socket.pause();
        socket.once("drain", () => socket.resume());
      }
    });
    socket.on("end", () => socket.end(` ${bytes}`));
  },
  first: (socket) => {
    socket.write("ready\n");
    socket.once("data", (chunk) => socket.end(String(chunk).toUpperCase()));
  },
  source: (socket) => {
    const part = Buffer.alloc(64 * 1024, "x");
    let written = 0;
    const more = () => {
      while (socket.write(part)) written += part.length;
      const stalled = setTimeout(() => say(`stalled ${written}`), 700);
      socket.once("drain", () => {
        clearTimeout(stalled);
        more();
      });
    };
    more();
  },
  reset: (socket) => socket.once("data", () => socket.resetAndDestroy()),
};

function makeHttp() {
  const server = http.createServer((request, response) => {
    if (request.url === "/echo") return void request.pipe(response);
    response.end(request.url === "/hello" ? "hello" : `${request.method} ${request.url}`);
  });
  server.on("upgrade", (request, socket) => {
    const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on("data", (frame) => {
      const size = frame[1] & 0x7f;
      const text = frame.subarray(6, 6 + size).map((byte, at) => byte ^ frame[2 + (at % 4)]);
      if ((frame[0] & 0xf) === 1) socket.write(Buffer.concat([Buffer.of(0x81, size), text]));
      else socket.end();
    });
    socket.on("error", () => {});
  });
  return server;
}

const server =
  mode === "http" ? makeHttp() : net.createServer({ allowHalfOpen: true }, kModes[mode]);
server.on("connection", (socket) => {
  say("connection");
  socket.on("error", () => {});
});
server.listen({ host, port: Number(port), backlog: 2048 }, () =>
  say(`listens ${server.address().port}`),
);
