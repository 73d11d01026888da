// As root too: how root's sandboxes end.
/** A forward is gone with what it leads to, whatever the end, and nothing of it is left. */

import { readdirSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { killHost, startHost } from "../support/host-program.js";
import { BubblewrapNativeRunner, type PortForward } from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { client, endOf, exchange, kPort, meets, serve, serverWords } from "./forwarding.js";

const kRounds = 20;
const kSlowMs = 120_000;
const make = () => new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });

/** The sockets and pipes of this process. */
const descriptors = (): string[] =>
  readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      const leads = readlinkSync(`/proc/self/fd/${name}`);
      return /^(socket|pipe):/.test(leads) ? [leads] : [];
    } catch {
      return [];
    }
  });

describeSandboxed("a forward is gone", () => {
  test.each(["exit", "signal", "abort", "deadline", "stop", "close of the runner"])(
    "with its process: %s",
    async (how) => {
      const runner = make();
      const controller = new AbortController();
      const limits = how === "deadline" ? { timeoutMs: 4_000 } : {};
      const input = { signal: controller.signal, limits };
      const { live } = await serve((words) => runner.spawn({ ...words, ...input }), "echo");
      const forward = await live.forward(kPort);
      const open = client(forward);
      open.write("x\n");
      await new Promise((resolve) => open.once("data", resolve));
      const ended = endOf(open);
      const refused = live.result.then(() => meets(forward));
      if (how === "exit") live.signal("SIGTERM");
      if (how === "signal") live.signal("SIGKILL");
      if (how === "abort") controller.abort();
      if (how === "stop") await live.stop();
      if (how === "close of the runner") await runner.close();
      expect(await refused).toBe("ECONNREFUSED");
      expect(await ended).toMatch(/closed|ECONNRESET/);
      await forward.close();
      await runner.close();
    },
  );

  test("with its session, whose other forwards go with it", async () => {
    const runner = make();
    const session = await runner.openSession();
    const { live } = await serve((input) => session.start(input), "echo");
    const forwards = [await session.forward(kPort), await live.forward(kPort)];
    const open = forwards.map((forward) => endOf(client(forward)));
    for (const forward of forwards) expect(await exchange(forward, "a")).toBe("a 1");
    await session.close();
    for (const forward of forwards) expect(await meets(forward)).toBe("ECONNREFUSED");
    await Promise.all(open);
    await runner.close();
  });

  test("when it is closed, once and again, with its connections alone", async () => {
    const runner = make();
    const { live } = await serve((input) => runner.spawn(input), "echo");
    const [first, second] = [await live.forward(kPort), await live.forward(kPort)];
    const sockets = [client(first), client(second)];
    for (const socket of sockets) {
      socket.write("x\n");
      await new Promise((resolve) => socket.once("data", resolve));
    }
    const ended = endOf(sockets[0] as never);
    await Promise.all([first.close(), first.close()]);
    await first.close();
    expect(await ended).toMatch(/closed|ECONNRESET/);
    expect(await meets(first)).toBe("ECONNREFUSED");
    expect(await exchange(second, "a")).toBe("a 1");
    // Its port is free at once.
    const again = await live.forward(kPort, { hostPort: first.port });
    expect(again.port).toBe(first.port);
    expect(await exchange(again, "a")).toBe("a 1");
    await runner.close();
  });

  test("and what the server had sent before its end has arrived", async () => {
    const runner = make();
    const script =
      'require("net").createServer((s) => s.end("x".repeat(1e6), () => process.exit())).listen(8000, "127.0.0.1", () => console.log("up"))';
    for (let round = 0; round < 5; round += 1) {
      const live = await runner.spawn({ argv: ["node", "-e", script] });
      await live.waitForPort(kPort);
      const forward = await live.forward(kPort);
      expect((await exchange(forward, "")).length).toBe(1e6);
      await live.result;
    }
    await runner.close();
  });

  test("or refused, when it is asked for while its session ends", async () => {
    for (let round = 0; round < kRounds; round += 1) {
      const runner = make();
      const session = await runner.openSession();
      const asked = Array.from({ length: 4 }, () => session.forward(kPort));
      const closed = session.close();
      const settled = await Promise.allSettled(asked);
      await closed;
      for (const one of settled) {
        if (one.status === "fulfilled") expect(await meets(one.value)).toBe("ECONNREFUSED");
        else expect(one.reason).toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
      }
      await runner.close();
    }
  });

  test("without a descriptor left", { timeout: kSlowMs }, async () => {
    const round = async () => {
      const runner = make();
      const { live } = await serve((input) => runner.spawn(input), "echo");
      const forward = await live.forward(kPort);
      await Promise.all(Array.from({ length: 50 }, () => exchange(forward, "a text")));
      const open = endOf(client(forward));
      const unheard = await live.forward(9);
      await meets(unheard);
      await runner.close();
      await open;
      expect(await meets(forward)).toBe("ECONNREFUSED");
    };
    await round();
    const before = descriptors().length;
    for (let at = 0; at < 3; at += 1) await round();
    await eventually(
      () => `there are ${before} descriptors again: ${descriptors().length}`,
      () => descriptors().length <= before,
    );
  });
});

describeSandboxed("a killed host's forward", () => {
  let probe = "";
  beforeAll(() => {
    probe = buildProbe(tempDirectory("tools"));
  });

  test("is gone with its sandbox", async () => {
    const host = startHost(probe, "host-of-a-forward.mjs", {
      args: [tempDirectory(), JSON.stringify(serverWords("echo"))],
    });
    await eventually("the host tells its port", () => /port \d+"/.test(host.said()));
    const port = Number(host.said().match(/port (\d+)/)?.[1]);
    const forward = { port, url: `http://127.0.0.1:${port}` } as PortForward;
    expect(await exchange(forward, "a")).toBe("a 1");
    killHost(host);
    expect(await host.ended).toMatchObject({ code: 128 + 9, left: [] });
    expect(await endOf(connect({ host: "127.0.0.1", port }))).toBe("ECONNREFUSED");
  });
});
