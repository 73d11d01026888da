/** What a forward refuses, and what it does where the sandbox does not answer. */

import { createServer, type Server } from "node:net";
import { expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { client, endOf, exchange, kPort, meets, serve } from "./forwarding.js";

const make = () => new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });

describeSandboxed("a forward", () => {
  test("names the field of a wrong value, what was expected and what came", async () => {
    const runner = make();
    const live = await runner.spawn({ argv: ["sleep", "60"] });
    const session = await runner.openSession();
    for (const owner of [live, session]) {
      for (const [code, field, ...args] of [
        ["ERR_INVALID_ARG_TYPE", "port", "80"],
        ["ERR_OUT_OF_RANGE", "port", 0],
        ["ERR_OUT_OF_RANGE", "port", 65_536],
        ["ERR_OUT_OF_RANGE", "port", 80.5],
        ["ERR_OUT_OF_RANGE", "options.hostPort", 80, { hostPort: -1 }],
        ["ERR_OUT_OF_RANGE", "options.hostPort", 80, { hostPort: 65_536 }],
        ["ERR_INVALID_ARG_TYPE", "options.hostPort", 80, { hostPort: "1" }],
        ["ERR_INVALID_ARG_VALUE", "options.host", 80, { host: "0.0.0.0" }],
        ["ERR_INVALID_ARG_VALUE", "options.host", 80, { host: "::" }],
        ["ERR_INVALID_ARG_VALUE", "options.host", 80, { host: "192.0.2.1" }],
        ["ERR_INVALID_ARG_VALUE", "options.host", 80, { host: "a.test" }],
        ["ERR_INVALID_ARG_TYPE", "options.host", 80, { host: 1 }],
        ["ERR_INVALID_ARG_VALUE", "hostport", 80, { hostport: 1 }],
        ["ERR_INVALID_ARG_TYPE", "options", 80, null],
      ] as const) {
        const call = Reflect.apply(owner.forward, owner, args);
        const message = expect.stringContaining(field);
        await expect(call, `${field} ${JSON.stringify(args)}`).rejects.toMatchObject({
          code,
          message,
        });
      }
    }
    const { audits } = await live.stop();
    expect(audits[0]).not.toHaveProperty("forwards");
    await runner.close();
  });

  test("tells what holds the host's port", async () => {
    const runner = make();
    const live = await runner.spawn({ argv: ["sleep", "60"] });
    const holder = await new Promise<Server>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
    });
    const { port } = holder.address() as { port: number };
    const taken = {
      name: "ForwardError",
      code: "ERR_SANDBOX_FORWARD",
      port: kPort,
      message: expect.stringMatching(
        new RegExp(
          `^port ${port} of the host is taken by this process, process ${process.pid} \\(`,
        ),
      ),
      fix: expect.stringContaining("hostPort"),
    };
    await expect(live.forward(kPort, { hostPort: port })).rejects.toMatchObject(taken);
    await new Promise((resolve) => holder.close(resolve));
    const forward = await live.forward(kPort, { hostPort: port });
    expect(forward.port).toBe(port);
    await expect(live.forward(kPort, { hostPort: port })).rejects.toMatchObject(taken);
    await runner.close();
  });

  test("is one of 64 of a sandbox at most", async () => {
    const runner = make();
    const live = await runner.spawn({ argv: ["sleep", "60"] });
    const all = await Promise.all(Array.from({ length: 64 }, () => live.forward(kPort)));
    await expect(live.forward(kPort)).rejects.toMatchObject({
      message: expect.stringContaining("64 forwards"),
    });
    await all[0]?.close();
    await live.forward(kPort);
    await runner.close();
  });

  test("is refused after the process has ended, with its outcome", async () => {
    const runner = make();
    const live = await runner.spawn({ argv: ["sh", "-c", "exit 3"] });
    await live.result;
    await expect(live.forward(kPort)).rejects.toMatchObject({
      code: "ERR_SANDBOX_FORWARD",
      outcome: { kind: "exited" },
      message: expect.stringContaining("exited, exit code 3"),
    });
    await runner.close();
  });

  test("closes clients while nothing listens, and serves those that come later", async () => {
    const runner = make();
    const session = await runner.openSession();
    const sleeper = await session.start({ argv: ["sleep", "60"] });
    const forward = await session.forward(kPort);
    for (let at = 0; at < 3; at += 1) expect(await meets(forward)).toBe("ECONNRESET");
    const { live } = await serve((input) => session.start(input), "echo");
    expect(await exchange(forward, "a")).toBe("a 1");
    await live.stop();
    expect(await meets(forward)).toBe("ECONNRESET");
    const { audits } = await sleeper.stop();
    expect(audits[0]?.forwards).toMatchObject([{ connections: 5, failed: 4, refused: 0 }]);
    await runner.close();
  });

  test("leaves commands without its sockets", async () => {
    const runner = make();
    await using session = await runner.openSession();
    await serve((input) => session.start(input), "echo");
    const forward = await session.forward(kPort);
    const open = client(forward);
    open.write("x\n");
    await new Promise((resolve) => open.once("data", resolve));
    const script =
      "readlink /proc/self/fd/*; echo -; readlink /proc/$$/fd/*; echo -; readlink /proc/1/fd/? /proc/1/fd/??";
    const { stdoutText } = await session.exec({ argv: ["sh", "-c", script] });
    const [own = "", control = "", launchers] = stdoutText.split("-\n");
    expect(own).not.toContain("socket:");
    expect(control).toContain("pipe:"); // it can look, but not at the launcher's
    expect(launchers).toBe("");
    open.destroy();
  });

  test("gives a client up that the sandbox does not take in ten seconds", {
    timeout: kHungMs,
  }, async () => {
    const runner = make();
    const script =
      "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',8000))\ns.listen(0)\nprint('up',flush=True)\ntime.sleep(100)";
    const live = await runner.spawn({ argv: ["python3", "-c", script] });
    await live.waitForPort(kPort);
    const forward = await live.forward(kPort);
    const ends = Array.from({ length: 6 }, () => endOf(client(forward)));
    expect(await Promise.race(ends)).toBe("ECONNRESET");
    const { audits } = await live.stop();
    expect(audits[0]?.forwards?.[0]?.failed).toBeGreaterThan(0);
    await Promise.all(ends);
    await runner.close();
  });
});
