/** `network.hostPorts` of a caller: ports of the worker's loopback, those that the worker's policy names and no others. */

import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { serve } from "../../network/host-services.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "ports of a worker's loopback", () => {
  test("are the caller's as far as the policy names them", async () => {
    const [granted, other] = await Promise.all(
      ["granted", "other"].map((name) => serve((socket) => socket.end(`${name}\n`))),
    );
    if (granted === undefined || other === undefined) throw new Error("there is no service");
    const server = await startNatsServer();
    const policy = { network: { hostPorts: [granted.port] }, prewarm: 0 };
    await startWorker({ server: server.url, policy });
    const workspace = tempDirectory();
    const ask = async (network: "deny" | { hostPorts: number[] } | undefined) => {
      const place = { servers: [server.url], insecure: true, pool: "tests", workspace };
      const runner = new RemoteNativeRunner({ ...place, ...(network && { network }) });
      try {
        const script = `cat </dev/tcp/127.0.0.1/${granted.port}; cat </dev/tcp/127.0.0.1/${other.port}`;
        const result = await runner.exec({ argv: ["bash", "-c", script] });
        const connections = result.audits?.[0]?.connections?.map(({ via, port }) => [via, port]);
        return {
          out: Buffer.from(result.stdout).toString(),
          kind: result.outcome?.kind,
          connections,
        };
      } finally {
        await runner.close();
      }
    };
    const reached = {
      out: "granted\n",
      kind: "exited",
      connections: [["host-port", granted.port]],
    };
    expect(await ask({ hostPorts: [granted.port] })).toMatchObject(reached);
    expect(await ask(undefined)).toMatchObject(reached);
    expect(await ask("deny")).toMatchObject({ out: "", kind: "exited" });
    await expect(ask({ hostPorts: [granted.port, other.port] })).rejects.toThrow(
      `Expected \`network.hostPorts[1]\` to be within 127.0.0.1:${granted.port} by the worker's policy, got "127.0.0.1:${other.port}"`,
    );
    expect(other.sockets.size).toBe(0);
  });
});
