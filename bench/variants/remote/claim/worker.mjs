// A worker of the design with a queue in JetStream: it pulls an offer, claims the run at its caller, and acknowledges
// the offer once that is granted. Runs nothing. Arguments: the broker's URL, a name.

import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

import { kStream, pack, unpack } from "./frames.mjs";

const kSlots = 8;
const kClaimMs = 2_000;

const [url, name] = process.argv.slice(2);
const connection = await connect({ servers: url, name });
const consumer = await jetstream(connection).consumers.get(kStream.name, "work");

async function serve() {
  for (;;) {
    const offer = await consumer.next({ expires: 3_000 });
    if (!offer) continue;
    const { run, caller } = unpack(offer.data);
    const claim = pack({ run, worker: name, time: performance.now() });
    const answer = await connection.request(`c.${caller}.claim`, claim, { timeout: kClaimMs });
    offer.ack();
    if (unpack(answer.data).go)
      connection.publish(`c.${caller}.${run}`, pack({ t: "end", exitCode: 0 }));
  }
}

for (let slot = 0; slot < kSlots; slot++) void serve();
process.stderr.write("serves\n");
process.once("SIGTERM", () => process.exit(0));
