/** A host that never closes its runner ends when nothing of its own runs, as one with a runner of this machine. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { beforeAll, expect, test } from "vitest";
import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kHost = fileURLToPath(new URL("never-closes.mjs", import.meta.url));
/** Generous; what holds a process holds it for ever. */
const kMostMs = 25_000;

type Ended = { out: string; err: string; code: number | null };

/** Runs a host to its end; one that does not end is killed, and has no code. */
async function host(url: string, way: string, seen?: (out: string) => void): Promise<Ended> {
  const asked = JSON.stringify({ url, way, workspace: tempDirectory() });
  const child = spawn(kNodeProgram, [kHost, asked], { stdio: ["ignore", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), kMostMs);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    seen?.(out);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  return { out, err, code };
}

const kWays: [string, RegExp][] = [
  ["nothing", /^$/],
  ["exec", /^ran\s+$/],
  ["several", /^(ran\s+){3}$/],
  ["spawn", /^ran\s+$/],
  ["spawn, left alone", /^ran\s+$/],
  ["session", /^ran\s+$/],
  ["session, two at once", /^(ran\s+){2}$/],
  ["session, closed", /^ran until it was closed\n$/],
  ["transaction", /^ran, made\n$/],
  ["transaction, discarded", /^ran\n$/],
  ["abort", /^ran, aborted\n$/],
];

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a host that closes nothing", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer();
    await startWorker({ server: server.url, slots: 32 });
  }, 120_000);

  test.each(kWays)("ends after %s, with all that it has waited for", async (way, said) => {
    const { out, err, code } = await host(server.url, way);
    expect({ err, code }).toEqual({ err: "", code: 0 });
    expect(out).toMatch(said);
  });

  test.each(kWays)("is a thread that ends after %s", async (way, said) => {
    const workerData = { url: server.url, way, workspace: tempDirectory() };
    const thread = new Worker(kHost, { workerData, stdout: true });
    let out = "";
    thread.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    const timer = setTimeout(() => void thread.terminate(), kMostMs);
    const [code] = (await once(thread, "exit")) as [number];
    clearTimeout(timer);
    expect(code).toBe(0);
    expect(out).toMatch(said);
  });
});

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a host that closes its runner", () => {
  const kClosed = ["a close", "a close of a session and a runner"];
  test.each(kClosed)("runs what comes after %s, and ends", async (way) => {
    const server = await startNatsServer();
    await startWorker({ server: server.url });
    expect(await host(server.url, way)).toEqual({ out: "ran\n", err: "", code: 0 });
  });
});

describeUnless(
  whyNoNatsServer ?? whyNoBubblewrap,
  "a host whose broker goes while it is idle",
  () => {
    test("ends all the same", async () => {
      const server = await startNatsServer();
      await startWorker({ server: server.url });
      let gone: Promise<void> | undefined;
      const { out, err, code } = await host(server.url, "idle without a broker", (text) => {
        if (text.includes("idle")) gone ??= server.stop("SIGKILL");
      });
      await gone;
      expect({ out, err, code }).toEqual({ out: "idle\nran\n", err: "", code: 0 });
    });

    test("finds it again with its next run", async () => {
      let server = await startNatsServer();
      const { port, url } = server;
      await startWorker({ server: url });
      const runner = new RemoteNativeRunner({
        ...{ servers: [url], insecure: true, pool: "tests", workspace: tempDirectory() },
      });
      const argv = ["echo", "ran"];
      for (let round = 0; round < 3; round += 1) {
        expect(await runner.exec({ argv })).toMatchObject({ stdoutText: "ran\n" });
        await server.stop("SIGKILL");
        const waiting = runner.exec({ argv });
        server = await startNatsServer("", { port });
        expect(await waiting).toMatchObject({ stdoutText: "ran\n" });
      }
      await runner.close();
    });
  },
);
