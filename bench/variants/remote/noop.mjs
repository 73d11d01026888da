// The dispatch alone: one call at a time of a RemoteNativeRunner whose workers run nothing.

import { fileURLToPath } from "node:url";

import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { openBroker } from "./broker.mjs";

export { missing } from "./broker.mjs";

const kWorker = fileURLToPath(new URL("./noop-worker.mjs", import.meta.url));

export async function open({ workspace }) {
  const { RemoteNativeRunner } = await import("../../../dist/adapters/remote.js");
  const broker = await openBroker();
  for (const name of ["w1", "w2"]) await broker.start(kWorker, [broker.url, name]);
  const options = { servers: [broker.url], insecure: true, pool: "bench", workspace };
  const runner = new RemoteNativeRunner(options);
  return {
    burst: bursts(() => millisecondsOf(() => runner.exec({ argv: ["/bin/true"] }))),
    async close() {
      await runner.close();
      await broker.close();
    },
  };
}
