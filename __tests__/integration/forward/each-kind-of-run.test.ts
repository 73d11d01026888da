// As root too: root's sandboxes are made otherwise.
/** Forwards into each kind of sandbox: a client of the host reaches a server of it, by IPv4 and IPv6. */

import { expect, test } from "vitest";

import { cloning } from "../clones/cloning-runners.js";
import {
  BubblewrapNativeRunner,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../support/package.js";
import { describeSandboxed, testUnless, whyNoBindFd } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { openTransaction } from "../support/transactions.js";
import { exchange, kPort, meets, type Starts, serve } from "./forwarding.js";

async function reaches(start: Starts, origin = "cold"): Promise<void> {
  const { live } = await serve(start, "http");
  const forward = await live.forward(kPort);
  const answer = await fetch(`${forward.url}/hello`);
  expect([answer.status, await answer.text()]).toEqual([200, "hello"]);
  const { audits } = await live.stop();
  const { port: hostPort } = forward;
  expect(audits[0]).toMatchObject({
    start: origin,
    forwards: [{ port: kPort, hostPort, host: "127.0.0.1", connections: 1, refused: 0, failed: 0 }],
  });
  expect(await meets(forward)).toBe("ECONNREFUSED");
}

describeSandboxed("a forward into", () => {
  const make = (options = {}) =>
    new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0, ...options });

  test("a sandbox made for the run", async () => {
    const runner = make({ clone: "never" });
    await reaches((input) => runner.spawn(input));
    await runner.close();
  });

  testUnless(whyNoBindFd, "a clone", async () => {
    const runner = await cloning({ shadowDir: tempDirectory() });
    await reaches((input) => runner.spawn(input), "cloned");
    await runner.close();
  });

  test("a sandbox with a network by domain", async () => {
    const runner = make({ network: { allow: ["a.test"] } });
    await reaches((input) => runner.spawn(input));
    const live = await runner.spawn({ argv: ["sleep", "60"] });
    await expect(live.forward(443)).rejects.toMatchObject({
      code: "ERR_SANDBOX_FORWARD",
      message: expect.stringContaining("network by domain"),
    });
    await runner.close();
  });

  test("one whose command is traced (explain)", async () => {
    const runner = make();
    await reaches((input) => runner.spawn({ ...input, explain: true }));
    await runner.close();
  });

  test("a transaction", async () => {
    const { transaction } = await openTransaction(tempDirectory());
    await reaches((input) => transaction.spawn(input));
    await transaction.discard();
  });

  test("a session, of its own and of one of its commands", async () => {
    const runner = make();
    const session = await runner.openSession();
    const { live } = await serve((input) => session.start(input), "http");
    const own = await session.forward(kPort);
    const itsCommands = await live.forward(kPort);
    for (const { url } of [own, itsCommands])
      expect(await (await fetch(`${url}/hello`)).text()).toBe("hello");
    const quiet = await session.exec({ argv: ["true"] });
    expect(quiet.audits[0]?.forwards).toMatchObject([{ connections: 0 }, { connections: 0 }]);
    await live.stop();
    expect(await meets(itsCommands)).toBe("ECONNREFUSED");
    expect(await meets(own)).toBe("ECONNRESET"); // nothing listens inside any more
    const again = await serve((input) => session.start(input), "http");
    expect(await (await fetch(`${own.url}/hello`)).text()).toBe("hello");
    const { audits } = await again.live.stop();
    expect(audits[0]?.forwards).toMatchObject([{ hostPort: own.port, connections: 1, failed: 0 }]);
    await session.close();
    expect(await meets(own)).toBe("ECONNREFUSED");
    await expect(session.forward(kPort)).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    await runner.close();
  });

  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "::1"],
    ["::1", "127.0.0.1"],
    ["::1", "::1"],
  ] as const)("%s of the host leads to %s of the sandbox", async (host, inside) => {
    const runner = make();
    const { live } = await serve((input) => runner.spawn(input), "http", inside);
    const forward = await live.forward(kPort, { host });
    expect(new URL(forward.url).hostname).toBe(host === "::1" ? "[::1]" : host);
    expect(await (await fetch(`${forward.url}/hello`)).text()).toBe("hello");
    await runner.close();
  });

  test("IPv4 is tried first where both listen", async () => {
    const runner = make();
    await using session = await runner.openSession();
    await serve((input) => session.start(input), "http", "127.0.0.1");
    const other = await serve((input) => session.start(input), "first", "::1");
    const forward = await session.forward(kPort);
    expect(await (await fetch(`${forward.url}/hello`)).text()).toBe("hello");
    expect(other.screen.text).toBe(`listens ${kPort}\n`);
  });
});

const kOthers = [
  [
    "bubblewrap, network allowed",
    "bubblewrap",
    (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir, network: "allow" }),
  ],
  [
    "landlock, network allowed",
    "landlock",
    (shadowDir: string) => new LandlockNativeRunner({ shadowDir, network: "allow" }),
  ],
  ["firejail", "firejail", (shadowDir: string) => new FirejailNativeRunner({ shadowDir })],
  ["local", undefined, (shadowDir: string) => new LocalNativeRunner({ shadowDir })],
] as const;

for (const [name, runtime, make] of kOthers) {
  testUnless(runtime && whyNo(runtime), `a forward into a sandbox, ${name}`, async () => {
    const runner = make(tempDirectory());
    const isHosts = name !== "firejail";
    const { live, port } = await serve(
      (input) => runner.spawn(input),
      "echo",
      "127.0.0.1",
      isHosts ? 0 : kPort,
    );
    const forward = await live.forward(port);
    expect(forward.port).not.toBe(port);
    expect(await exchange(forward, "a text")).toBe("a text 6");
    if (isHosts) {
      await expect(live.forward(port, { hostPort: port })).rejects.toMatchObject({
        code: "ERR_SANDBOX_FORWARD",
        message: expect.stringContaining("they are one port"),
      });
    }
    await live.stop();
    expect(await meets(forward)).toBe("ECONNREFUSED");
  });
}

testUnless(whyNo("landlock"), "a sandbox without sockets has no forward", async () => {
  const runner = new LandlockNativeRunner({ shadowDir: tempDirectory(), network: "deny" });
  const live = await runner.spawn({ argv: ["sleep", "60"] });
  await expect(live.forward(kPort)).rejects.toMatchObject({
    code: "ERR_SANDBOX_FORWARD",
    message: expect.stringContaining("no sockets"),
  });
  await live.stop();
});
