/** A broker that takes only short messages: long frames go in pieces, and one that takes too short ones is told of. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kMain = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));
const kLeast = 257 * 1024;

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a broker whose messages may have", () => {
  test(`${kLeast} bytes carries what is longer`, async () => {
    const server = await startNatsServer(`max_payload: ${kLeast}`);
    await startWorker({ server: server.url });
    const workspace = tempDirectory();
    const place = { servers: [server.url], insecure: true, pool: "tests", workspace };
    const runner = new RemoteNativeRunner(place);
    const texts = Array.from({ length: 15 }, (_, n) => `${n}`.repeat(50_000));
    const words = await runner.exec({
      argv: ["bash", "-c", 'printf %s "$@" | cat - /dev/stdin', "bash", ...texts],
    });
    expect(words.stdoutText).toBe(texts.join(""));
    const stdin = Buffer.alloc(3 * 1024 ** 2, "abc\n");
    const looped = await runner.exec({
      argv: ["cat"],
      stdin,
      onStdout: () => {},
      limits: { maxStdoutBytes: 2 ** 23 },
    });
    expect(Buffer.from(looped.stdout).equals(stdin)).toBe(true);
    // A result whose frame is longer than a message: all of the arguments are in it.
    expect(JSON.stringify(words.audits).length).toBeGreaterThan(kLeast);
    await runner.close();
  });

  test("64 KiB is refused, and says what would do", async () => {
    const { url } = await startNatsServer("max_payload: 65536");
    const said = /no message of more than 65536 bytes, and 263168 are needed/;
    const runner = new RemoteNativeRunner({
      ...{ servers: [url], insecure: true, pool: "tests", workspace: tempDirectory() },
    });
    await expect(runner.exec({ argv: ["true"] })).rejects.toMatchObject({
      code: "ERR_SANDBOX_UNAVAILABLE",
      message: expect.stringMatching(said) as string,
      fix: expect.stringContaining("max_payload") as string,
    });
    await runner.close();
    const words = ["worker", "--server", url, "--insecure", "--pool", "p", "--workspaces", "/tmp"];
    const worker = spawnSync(kNodeProgram, [kMain, ...words], { encoding: "utf8" });
    expect(worker.stderr).toMatch(said);
    expect(worker.status).not.toBe(0);
  });
});
