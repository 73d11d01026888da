// Publishes 100 MB when it is told to, no faster than its connection takes them. Argument: the broker's URL.

import { connect } from "@nats-io/transport-node";

const kBytes = 100_000_000;
const kMessage = Buffer.alloc(192 * 1024);
const kBetweenFlushes = 8;

const connection = await connect({ servers: process.argv[2] });
connection.subscribe("go", {
  callback: async () => {
    let messages = 0;
    for (let left = kBytes; left > 0; left -= kMessage.length) {
      connection.publish("bytes", left < kMessage.length ? kMessage.subarray(0, left) : kMessage);
      if (++messages % kBetweenFlushes === 0) await connection.flush();
    }
  },
});
await connection.flush();
process.stderr.write("serves\n");
