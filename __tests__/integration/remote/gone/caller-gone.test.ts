/** A caller that is killed: its sessions and transactions are closed by their worker, with nothing of them left. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { eventually } from "../../../support/waits.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { marked, newMark } from "../../support/processes.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kHolder = fileURLToPath(new URL("holds-session-and-transaction.mjs", import.meta.url));

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a caller that is killed", () => {
  test.each(["SIGKILL", "SIGSTOP"] as const)(
    "by %s leaves no session, transaction or slot behind",
    async (signal) => {
      const { url } = await startNatsServer();
      await startWorker({ server: url, slots: 2, name: `gone-${signal}` });
      const workspace = tempDirectory();
      const mark = newMark();
      const holder = spawn(kNodeProgram, [kHolder, JSON.stringify({ url, workspace, mark })], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const gone = once(holder, "close");
      const [said] = (await once(holder.stdout, "data")) as [Buffer];
      const id = said.toString().trim();
      const place = { servers: [url], insecure: true, pool: "tests", workspace };
      const runner = new RemoteNativeRunner(place);
      try {
        // The control: both are there, and hold both slots.
        expect(marked(mark).length).toBeGreaterThan(0);
        const none = new RemoteNativeRunner({ ...place, queueTimeoutMs: 1_500 });
        expect((await none.exec({ argv: ["true"] })).outcome.kind).toBe("queue-timeout");
        await none.close();

        holder.kill(signal);
        const { outcome } = await runner.exec({ argv: ["true"] });
        expect(outcome).toMatchObject({ kind: "exited" });
        await eventually("ended", () => marked(mark).length === 0);

        // It was closed, not committed: whoever takes it up finds what was changed.
        const again = await runner.resumeTransaction(id);
        expect(existsSync(join(workspace, "made"))).toBe(false);
        expect(await again.changes()).toMatchObject([{ path: "made" }]);
        await again.commit();
        expect(existsSync(join(workspace, "made"))).toBe(true);
        await again.discard();
        // Both slots are free.
        const both = [1, 2].map(() => runner.exec({ argv: ["sleep", "0.5"] }));
        for (const result of await Promise.all(both)) expect(result.exitCode).toBe(0);
      } finally {
        holder.kill("SIGKILL");
        // Deno's own kill() ends none that it has stopped.
        const { pid } = holder;
        if (pid !== undefined && existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
        await gone;
        await runner.close();
      }
    },
    120_000,
  );
});
