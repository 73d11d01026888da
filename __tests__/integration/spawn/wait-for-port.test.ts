/** waitForPort: of live processes and sessions, by the kernel's table, without a client. */

import { createServer, type Server } from "node:net";
import { beforeAll, expect, test } from "vitest";

import { kLiveRunners, Screen } from "../support/live-processes.js";
import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  type SandboxProcess,
} from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { describeSessions } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

const kPort = 3000;
const workspace = tempDirectory();
beforeAll(() => void buildProbe(workspace));

/** Starts a server that listens a while after it was started. */
type Starts = (input: { argv: string[] }) => Promise<SandboxProcess>;
const serve = (start: Starts, port: number, family: 4 | 6 = 4, delayMs = 300) =>
  start({ argv: ["./probe", "serve", String(family), String(port), String(delayMs)] });

/** A port of the host's loopback on which nothing listens. */
async function freePort(): Promise<number> {
  const server = await listening();
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function listening(): Promise<Server> {
  const server = createServer();
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

const failure = (message: RegExp, fields: object = {}) =>
  expect.objectContaining({
    name: "WaitForPortError",
    code: "ERR_SANDBOX_PORT",
    message: expect.stringMatching(message),
    ...fields,
  });

const kOwnLoopback = [
  [
    "bubblewrap",
    whyNo("bubblewrap"),
    () => new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 }),
  ],
] as const;

for (const [name, reason, make] of kOwnLoopback) {
  describeUnless(reason, `a live process, ${name}, network denied`, () => {
    test.each([4, 6] as const)(
      "resolves when it listens, not when it is bound, IPv%i",
      async (family) => {
        const server = await serve((input) => make().spawn(input), kPort, family, 700);
        const screen = new Screen(server.stdout);
        await screen.until("bound\n");
        let isListening = false;
        const waiting = server.waitForPort(kPort, { intervalMs: 5 }).then(() => {
          isListening = true;
        });
        await server.waitForPort(kPort, { timeoutMs: 100 }).catch(() => {});
        expect(isListening).toBe(false);
        await waiting;
        await screen.until("listening\n");
        await server.stop();
        expect(screen.text).toBe("bound\nlistening\n"); // and no client
      },
    );

    test("takes no port of the host for its own", async () => {
      const host = await listening();
      const process = await make().spawn({ argv: ["sleep", "60"] });
      await expect(process.waitForPort(portOf(host), { timeoutMs: 200 })).rejects.toEqual(
        failure(/nothing listens on port \d+ after 200 ms/),
      );
      await process.stop();
      host.close();
    });
  });
}

for (const [name, reason, makeRunner] of kLiveRunners) {
  describeUnless(reason, `a live process, ${name}`, () => {
    // Landlock has no sockets unless the network is allowed.
    const make =
      name === "landlock"
        ? () => new LandlockNativeRunner({ shadowDir: workspace, network: "allow" })
        : () => makeRunner(workspace);
    const spawn = (argv: string[]) => make().spawn({ argv });

    test("rejects with its outcome when it ends before", async () => {
      const process = await spawn(["sh", "-c", "sleep 0.3; exit 3"]);
      const waiting = process.waitForPort(await freePort(), { timeoutMs: 20_000 });
      await expect(waiting).rejects.toEqual(
        failure(/ended before it listened on port \d+: exited, exit code 3/, {
          outcome: { kind: "exited" },
        }),
      );
    });

    test("rejects after its end, and when it is stopped", async () => {
      const process = await spawn(["sleep", "60"]);
      const waiting = process.waitForPort(await freePort());
      const aborted = failure(/aborted, exit code 130/, { outcome: { kind: "aborted" } });
      const ended = expect(waiting).rejects.toEqual(aborted);
      await process.stop();
      await ended;
      await expect(process.waitForPort(kPort)).rejects.toEqual(aborted);
    });

    test("rejects when its signal is aborted, and leaves the process alone", async () => {
      const controller = new AbortController();
      const process = await spawn(["sh", "-c", "read -r line; exit 4"]);
      const reason = new Error("enough");
      const { signal } = controller;
      const waiting = process.waitForPort(await freePort(), { signal });
      const rejected = expect(waiting).rejects.toBe(reason);
      controller.abort(reason);
      await rejected;
      const aborted = AbortSignal.abort(reason);
      await expect(process.waitForPort(kPort, { signal: aborted })).rejects.toBe(reason);
      process.stdin.end("\n");
      expect((await process.result).exitCode).toBe(4);
    });

    test("refuses what is no port, option or signal, and names it", async () => {
      const process = await spawn(["sleep", "60"]);
      const refused = async (code: string, field: string, ...args: unknown[]) => {
        const call = Reflect.apply(process.waitForPort, process, args);
        await expect(call).rejects.toMatchObject({
          code,
          message: expect.stringContaining(`\`${field}\``),
        });
      };
      await refused("ERR_INVALID_ARG_TYPE", "port", "80");
      await refused("ERR_OUT_OF_RANGE", "port", 0);
      await refused("ERR_OUT_OF_RANGE", "port", 65_536);
      await refused("ERR_OUT_OF_RANGE", "port", 80.5);
      await refused("ERR_OUT_OF_RANGE", "timeoutMs", 80, { timeoutMs: 0 });
      await refused("ERR_INVALID_ARG_TYPE", "timeoutMs", 80, { timeoutMs: "1" });
      await refused("ERR_OUT_OF_RANGE", "intervalMs", 80, { intervalMs: 0 });
      await refused("ERR_INVALID_ARG_TYPE", "signal", 80, { signal: 1 });
      await refused("ERR_INVALID_ARG_TYPE", "options", 80, null);
      await process.stop();
    });
  });
}

const kAllowed = [
  ["bubblewrap", () => new BubblewrapNativeRunner({ shadowDir: workspace, network: "allow" })],
  ["landlock", () => new LandlockNativeRunner({ shadowDir: workspace, network: "allow" })],
] as const;

for (const [name, make] of kAllowed) {
  describeUnless(whyNo(name), `a live process, ${name}, network allowed`, () => {
    test.each([4, 6] as const)("resolves when it listens, IPv%i", async (family) => {
      const port = await freePort();
      const server = await serve((input) => make().spawn(input), port, family);
      await server.waitForPort(port);
      const screen = new Screen(server.stdout);
      await screen.until("listening\n");
      await server.stop();
    });

    test("takes a port of the host for its own, whose network it has", async () => {
      const host = await listening();
      const process = await make().spawn({ argv: ["sleep", "60"] });
      await process.waitForPort(portOf(host));
      await process.stop();
      host.close();
    });
  });
}

describeSessions("waitForPort in a session", ({ name, runner }) => {
  const open = (network: "allow" | "deny") =>
    network === "deny"
      ? runner(workspace).openSession()
      : (name === "bubblewrap"
          ? new BubblewrapNativeRunner({ shadowDir: workspace, network })
          : new LandlockNativeRunner({ shadowDir: workspace, network })
        ).openSession();

  test("resolves when a command of it listens, and others reach that", async () => {
    await using session = await open(name === "bubblewrap" ? "deny" : "allow");
    const port = await freePort();
    const server = await serve((input) => session.start(input), port);
    await Promise.all([server.waitForPort(port), session.waitForPort(port)]);
    const { stdout } = await session.exec({ argv: ["./probe", "tcp", String(port)] });
    expect(new TextDecoder().decode(stdout)).toBe("hello\n");
    expect((await server.result).exitCode).toBe(0);
    await expect(session.waitForPort(port, { timeoutMs: 100 })).rejects.toEqual(
      failure(/nothing listens/),
    );
  });

  test("rejects when the session is closed, before and meanwhile", async () => {
    const session = await open(name === "bubblewrap" ? "deny" : "allow");
    const waiting = session.waitForPort(await freePort());
    const closed = { code: "ERR_SANDBOX_CLOSED", message: "the session has ended: it was closed" };
    const rejected = expect(waiting).rejects.toMatchObject(closed);
    await session.close();
    await rejected;
    await expect(session.waitForPort(kPort)).rejects.toMatchObject(closed);
  });

  test("rejects when its signal is aborted", async () => {
    await using session = await open(name === "bubblewrap" ? "deny" : "allow");
    const controller = new AbortController();
    const waiting = session.waitForPort(await freePort(), { signal: controller.signal });
    const reason = new Error("enough");
    const rejected = expect(waiting).rejects.toBe(reason);
    controller.abort(reason);
    await rejected;
  });

  if (name === "landlock") {
    test("rejects at once where commands have no sockets, whatever the host has", async () => {
      const host = await listening();
      await using session = await open("deny");
      await expect(session.waitForPort(portOf(host))).rejects.toEqual(failure(/no sockets/));
      const process = await session.start({ argv: ["sleep", "60"] });
      await expect(process.waitForPort(portOf(host))).rejects.toEqual(failure(/no sockets/));
      const alone = await runner(workspace).spawn({ argv: ["sleep", "60"] });
      await expect(alone.waitForPort(portOf(host))).rejects.toEqual(failure(/no sockets/));
      await alone.stop();
      host.close();
      await using allowed = await open("allow");
      const free = await freePort();
      await expect(allowed.waitForPort(free, { timeoutMs: 100 })).rejects.toEqual(
        failure(/nothing listens/),
      );
    });
  }
});
