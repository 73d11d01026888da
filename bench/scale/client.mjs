// As much of NATS' protocol as ten thousand workers need: one socket each, and no more memory than that takes.

import { once } from "node:events";
import net from "node:net";

const kLineEnd = "\r\n";

/** { publish(subject, reply, payload), subscribe(subject, receive), close() } */
export async function connectRaw(port) {
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  const receivers = [];
  let waiting = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    let at = 0;
    for (;;) {
      const end = waiting.indexOf(kLineEnd, at);
      if (end < 0) break;
      const line = waiting.toString("latin1", at, end);
      if (line.startsWith("MSG ")) {
        const words = line.split(" ");
        const size = Number(words.at(-1));
        if (waiting.length < end + 2 + size + 2) break;
        receivers[Number(words[2])](waiting.subarray(end + 2, end + 2 + size));
        at = end + 2 + size + 2;
      } else {
        if (line === "PING") socket.write("PONG\r\n");
        if (line.startsWith("-ERR")) throw new Error(line);
        at = end + 2;
      }
    }
    waiting = at === waiting.length ? Buffer.alloc(0) : waiting.subarray(at);
  });
  socket.write('CONNECT {"verbose":false,"pedantic":false,"lang":"raw","version":"1"}\r\n');
  return {
    publish(subject, payload) {
      socket.write(`PUB ${subject} ${payload.length}\r\n${payload}\r\n`, "latin1");
    },
    subscribe(subject, receive) {
      const number = receivers.push(receive) - 1;
      socket.write(`SUB ${subject} ${number}\r\n`);
    },
    close: () => socket.destroy(),
  };
}
