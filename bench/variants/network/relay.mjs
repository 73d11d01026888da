// A large download by a command whose network is one name: our host process relays it.

import { BubblewrapNativeRunner } from "../../../dist/index.js";
import { peakResidentBytes, resetPeak, residentBytes } from "../../host/memory.mjs";
import { bursts } from "../../host/timed.mjs";
import { fetchInside, onlyPort } from "./curl.mjs";
import { openServers } from "./servers.mjs";

export { missing } from "./servers.mjs";

export const kLargeBytes = 2 ** 30;

export async function open({ workspace }) {
  const servers = await openServers({ workspace, largeBytes: kLargeBytes });
  const network = onlyPort(servers.port);
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, network, prewarm: 0 });
  const url = `http://localhost:${servers.port}/large`;
  const step = () => fetchInside(runner, url, kLargeBytes);
  return {
    async burst(request) {
      resetPeak();
      const before = residentBytes();
      const peak = () => ({ peakGrowthBytes: Math.max(0, peakResidentBytes() - before) });
      return bursts(step, peak)(request);
    },
    async close() {
      await runner.close();
      await servers.close();
    },
  };
}
