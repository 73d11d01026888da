// The same download through a relay as one writes it in Node: two sockets and pipe().

import { once } from "node:events";
import net from "node:net";

import { bursts } from "../../host/timed.mjs";
import { fetchHere } from "./curl.mjs";
import { kLargeBytes } from "./relay.mjs";
import { openServers } from "./servers.mjs";

export { missing } from "./servers.mjs";

export async function open({ workspace }) {
  const servers = await openServers({ workspace, largeBytes: kLargeBytes });
  const relay = net.createServer((inside) => {
    const outside = net.connect(servers.port, "127.0.0.1");
    inside.pipe(outside).pipe(inside);
    for (const socket of [inside, outside]) socket.on("error", () => socket.destroy());
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  const url = `http://127.0.0.1:${relay.address().port}/large`;
  return {
    burst: bursts(() => fetchHere(url, kLargeBytes)),
    async close() {
      relay.close();
      await servers.close();
    },
  };
}
