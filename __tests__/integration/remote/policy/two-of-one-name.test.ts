/** Two workers of one name and directory: the second one is refused when it starts, and told why. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kMain = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "two workers of one name and directory", () => {
  test("are one, until that one has ended", async () => {
    const server = await startNatsServer();
    const workspaces = tempDirectory();
    const choice = { server: server.url, name: "same", workspaces };
    const first = await startWorker(choice);
    const words = ["--server", server.url, "--insecure", "--pool", "tests", "--name", "same"];
    const second = spawnSync(
      kNodeProgram,
      [kMain, "worker", ...words, "--workspaces", workspaces],
      {
        encoding: "utf8",
        timeout: 60_000,
      },
    );
    expect(second.status).not.toBe(0);
    expect(second.stderr).toContain("another worker of this name");
    expect(second.stderr).not.toContain("serves the pool");
    await startWorker({ ...choice, name: "other" }); // the control
    expect(await first.stop()).toBe(0);
    await startWorker(choice);
  });
});
