// One call at a time in the design with a queue in JetStream, whose workers run nothing.

import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";

import { bursts, millisecondsOf } from "../../../host/timed.mjs";
import { openBroker } from "../broker.mjs";
import { kStream, pack, unpack } from "./frames.mjs";

export { missing } from "../broker.mjs";

const kWorker = fileURLToPath(new URL("./worker.mjs", import.meta.url));

async function makeStream(connection) {
  const { jetstreamManager } = await import("@nats-io/jetstream");
  const manager = await jetstreamManager(connection);
  const queue = { retention: "workqueue", storage: "memory", discard: "new", max_age: 300e9 };
  await manager.streams.add({ ...kStream, ...queue });
  const consumer = { durable_name: "work", ack_policy: "explicit", max_deliver: 5, ack_wait: 10e9 };
  await manager.consumers.add(kStream.name, consumer);
}

export async function open() {
  const { connect } = await import("@nats-io/transport-node");
  const { jetstream } = await import("@nats-io/jetstream");
  const broker = await openBroker(["-js"]);
  const connection = await connect({ servers: broker.url });
  await makeStream(connection);
  for (const name of ["w1", "w2"]) await broker.start(kWorker, [broker.url, name]);
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
