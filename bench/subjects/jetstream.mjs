// The design that our dispatch is compared with: a queue in JetStream, from which workers (processes.mjs) take
// offers and claim them at the caller.

import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";

import { bursts, millisecondsOf } from "../bursts.mjs";
import { openBroker } from "./broker.mjs";

const kProcesses = fileURLToPath(new URL("./processes.mjs", import.meta.url));

// Messages: a JSON header behind its length.

const decoder = new TextDecoder();

export function pack(header) {
  const text = Buffer.from(JSON.stringify(header));
  const message = Buffer.alloc(4 + text.length);
  message.writeUInt32BE(text.length);
  text.copy(message, 4);
  return message;
}

export function unpack(message) {
  const length = new DataView(message.buffer, message.byteOffset).getUint32(0);
  return JSON.parse(decoder.decode(message.subarray(4, 4 + length)));
}

export const kStream = { name: "RUNS", subjects: ["run.>"] };

// One call at a time in the design with a queue in JetStream, whose workers run nothing.

async function makeStream(connection) {
  const { jetstreamManager } = await import("@nats-io/jetstream");
  const manager = await jetstreamManager(connection);
  const queue = { retention: "workqueue", storage: "memory", discard: "new", max_age: 300e9 };
  await manager.streams.add({ ...kStream, ...queue });
  const consumer = { durable_name: "work", ack_policy: "explicit", max_deliver: 5, ack_wait: 10e9 };
  await manager.consumers.add(kStream.name, consumer);
}

export async function openClaims() {
  const { connect } = await import("@nats-io/transport-node");
  const { jetstream } = await import("@nats-io/jetstream");
  const broker = await openBroker(["-js"]);
  const connection = await connect({ servers: broker.url });
  await makeStream(connection);
  for (const name of ["w1", "w2"]) await broker.start(kProcesses, ["claims", broker.url, name]);
  const stream = jetstream(connection);
  const caller = randomBytes(8).toString("hex");
  const waiting = new Map();
  connection.subscribe(`c.${caller}.*`, {
    callback: (_error, message) => {
      const said = unpack(message.data);
      const run = message.subject.split(".")[2];
      if (run === "claim")
        return message.respond(pack({ go: waiting.has(said.run), argv: ["true"] }));
      waiting.get(run)?.();
      waiting.delete(run);
    },
  });
  let runs = 0;
  const one = () =>
    new Promise((resolve, reject) => {
      const run = `r${runs++}`;
      waiting.set(run, resolve);
      stream.publish("run.bench.default", pack({ run, caller })).catch(reject);
    });
  return {
    burst: bursts(() => millisecondsOf(one)),
    async close() {
      await connection.close();
      await broker.close();
    },
  };
}
