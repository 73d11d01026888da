/** The port of a moved workspace: bounded, whatever the other side sends, and never waiting for one that has ended it. */

import { describe, expect, test } from "vitest";

import { WirePort } from "../../../lib/remote/wire/channel.js";
import { kMostBody } from "../../../lib/remote/workspace/exchange.js";

const kWindow = 8;
const none = new Uint8Array(0);
const data = { header: { t: "data" }, body: none };

function port(stallMs?: number) {
  const sent: unknown[] = [];
  const taken: number[] = [];
  const made = new WirePort(
    { send: (header) => sent.push(header), taken: (n) => taken.push(n) },
    stallMs,
  );
  return { port: made, sent, taken };
}

async function fill(made: WirePort): Promise<void> {
  for (let at = 0; at < kWindow; at += 1) await made.send(data);
}

describe("a port without room", () => {
  test("sends on once the other side has taken some", async () => {
    const { port: made, sent } = port();
    await fill(made);
    const more = made.send(data);
    made.granted(1);
    await more;
    expect(sent).toHaveLength(kWindow + 1);
  });

  test("keeps both waits, of a sender and a reader, through a change that is for neither", async () => {
    const { port: made, sent } = port(2_000);
    await fill(made);
    const sending = made.send(data);
    const reading = made.receive();
    made.granted(0);
    await new Promise(setImmediate);
    made.granted(1);
    await sending;
    expect(sent).toHaveLength(kWindow + 1);
    made.deliver({ t: "data" }, none);
    expect(await reading).toMatchObject({ header: { t: "data" } });
  });

  test.each(["verdict", "failed"])("rejects what waits when the other side sends %s", async (t) => {
    const { port: made } = port();
    await fill(made);
    const waiting = made.send(data);
    made.deliver({ t }, none);
    await expect(waiting).rejects.toThrow("has ended it");
    expect(await made.receive()).toMatchObject({ header: { t } });
  });

  test.each(["verdict", "failed"])("sends %s all the same", async (t) => {
    const { port: made, sent } = port();
    await fill(made);
    await made.send({ header: { t }, body: none });
    expect(sent.at(-1)).toEqual({ t });
  });

  test("waits no longer than it may", async () => {
    const { port: made } = port(20);
    await expect(made.receive()).rejects.toThrow("nothing came for 20 ms");
  });
});

describe("a side that sends more than it may", () => {
  test("ends the exchange by the number of its messages", async () => {
    const { port: made } = port();
    for (let at = 0; at < kWindow; at += 1) made.deliver(data.header, none);
    expect(await made.receive()).toMatchObject(data); // the control: a full window is read
    made.deliver(data.header, none);
    made.deliver(data.header, none);
    await expect(made.receive()).rejects.toThrow("more than it may");
  });

  test("ends it by the length of one", async () => {
    const { port: made } = port();
    made.deliver(data.header, new Uint8Array(kMostBody));
    expect((await made.receive()).body).toHaveLength(kMostBody);
    made.deliver(data.header, new Uint8Array(kMostBody + 1));
    await expect(made.receive()).rejects.toThrow("more than it may");
  });

  test("gives no more room than the window", async () => {
    const { port: made, sent } = port(20);
    made.granted(1e9);
    await fill(made);
    await expect(made.send(data)).rejects.toThrow("nothing came");
    expect(sent).toHaveLength(kWindow);
  });
});
