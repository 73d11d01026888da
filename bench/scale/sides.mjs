// One side of the traffic, as a process of its own: all callers, or all workers.

import { once } from "node:events";
import net from "node:net";

// As much of NATS' protocol as ten thousand workers need: one socket each, and no more memory than that takes.

const kLineEnd = "\r\n";

/** { publish(subject, reply, payload), subscribe(subject, receive), close() } */
async function connectRaw(port) {
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

const kBeatMs = 500;
const kLateMs = 2_000;
const kAtOnce = 200;

const runs = '"receipts":[[1041,3],[1042,3],[1043,1],[1044,1]],"runs":[1041,1042,1043,1044]';
const beat = (worker, at) =>
  `{"t":"beat","worker":"w${worker}.0123456789abcdef","pool":"bench","at":${at},"heard":${at},${runs},"free":4,"lease":7}`;
const echo = (at) =>
  `{"t":"echo","caller":"0123456789abcdef01234567","at":${at},"saidAt":${at},"receipts":[[1041,3],[1042,3]],"ended":[1040],"oldest":1041}`;

async function all(count, make) {
  for (let at = 0; at < count; at += kAtOnce) {
    await Promise.all(
      Array.from({ length: Math.min(kAtOnce, count - at) }, (_, i) => make(at + i)),
    );
  }
}

async function beCallers({ port, callers }) {
  await all(callers, async (caller) => {
    const client = await connectRaw(port);
    client.subscribe(`nr1.c.bench.c${caller}.>`, (message) => {
      const text = message.toString("latin1");
      const worker = /"worker":"(w\d+)/.exec(text)[1];
      const at = /"at":([\d.]+)/.exec(text)[1];
      client.publish(`nr1.w.bench.${worker}.0123456789abcdef.bench`, echo(at));
    });
  });
}

async function beWorkers({ port, workers, callers }) {
  let took = [];
  let beats = 0;
  await all(workers, async (worker) => {
    const client = await connectRaw(port);
    client.subscribe(`nr1.w.bench.w${worker}.0123456789abcdef.*`, (message) => {
      const at = Number(/"at":([\d.]+)/.exec(message.toString("latin1"))[1]);
      took.push(performance.now() - at);
    });
    const say = () => {
      beats += 1;
      client.publish(
        `nr1.c.bench.c${worker % callers}.w.bench.w${worker}.0123456789abcdef`,
        beat(worker, performance.now()),
      );
    };
    // Spread over the half second, as workers that were started at their own times are.
    setTimeout(() => setInterval(say, kBeatMs), (worker * 7.3) % kBeatMs);
  });
  return (what) => {
    if (what === "begin") {
      took = [];
      beats = 0;
      return "begun";
    }
    took.sort((a, b) => a - b);
    const at = (share) => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? NaN;
    const late = took.filter((ms) => ms > kLateMs).length;
    return { beats, echoes: took.length, p50: at(0.5), p99: at(0.99), late };
  };
}

process.once("message", async ({ role, ...setup }) => {
  const answer = role === "callers" ? await beCallers(setup) : await beWorkers(setup);
  process.send("ready");
  process.on("message", (what) => process.send(answer(what)));
});
