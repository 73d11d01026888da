// 100 MB that a command writes, read as they come; and the same bytes by publish and subscribe alone, in messages of
// 192 KiB. Each run is one transfer.

import { fileURLToPath } from "node:url";

import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { openBroker } from "./broker.mjs";
import { openBoth } from "./run.mjs";

export { missing } from "./broker.mjs";

const kBytes = 100_000_000;
const kPublisher = fileURLToPath(new URL("./publisher.mjs", import.meta.url));

async function openOurs() {
  const { remote, close } = await openBoth();
  const argv = ["head", "-c", String(kBytes), "/dev/zero"];
  const one = async () => {
    const live = await remote.spawn({ argv });
    let bytes = 0;
    for await (const chunk of live.stdout) bytes += chunk.length;
    const { outcome } = await live.result;
    if (bytes !== kBytes) throw new Error(`${bytes} bytes came, ${outcome.kind}`);
  };
  return { burst: bursts(() => millisecondsOf(one)), close };
}

async function openBare() {
  const { connect } = await import("@nats-io/transport-node");
  const broker = await openBroker();
  const connection = await connect({ servers: broker.url });
  let bytes = 0;
  let done = () => {};
  connection.subscribe("bytes", {
    callback: (_error, { data }) => {
      bytes += data.length;
      if (bytes >= kBytes) done();
    },
  });
  await connection.flush();
  await broker.start(kPublisher, [broker.url]);
  const one = async () => {
    bytes = 0;
    const all = new Promise((resolve) => {
      done = resolve;
    });
    connection.publish("go");
    await all;
  };
  return {
    burst: bursts(() => millisecondsOf(one)),
    async close() {
      await connection.close();
      await broker.close();
    },
  };
}

export const open = ({ isBare = false }) => (isBare ? openBare() : openOurs());
