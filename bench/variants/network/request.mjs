// A small HTTPS request by a command whose network is one name, against the same without a sandbox:
// what it takes more, as curl tells it. In a session, so that a sandbox's set-up is no part of it.

import { BubblewrapNativeRunner } from "../../../dist/index.js";
import { bursts } from "../../host/timed.mjs";
import { fetchHere, fetchInside, onlyPort } from "./curl.mjs";
import { openServers } from "./servers.mjs";

export { missing } from "./servers.mjs";

const kSmallBytes = 6;

export async function open({ workspace }) {
  const servers = await openServers({ workspace });
  const network = onlyPort(servers.securePort);
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, network, prewarm: 0 });
  const session = await runner.openSession();
  const url = `https://localhost:${servers.securePort}/small`;
  const step = async () => {
    const here = await fetchHere(url, kSmallBytes);
    return (await fetchInside(session, url, kSmallBytes)) - here;
  };
  return {
    burst: bursts(step),
    async close() {
      await session.close();
      await runner.close();
      await servers.close();
    },
  };
}
