import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { Channel, type Numbered } from "../../../lib/remote/wire/channel.js";

type Text = { text: string };
type Message = { numbered: Text & Numbered; body: Uint8Array };
const kNothing = new Uint8Array(0);

/** Two ends, and what is on the way to each. */
function pair() {
  const toB: Message[] = [];
  const toA: Message[] = [];
  const heardByA: string[] = [];
  const heardByB: string[] = [];
  const end = (way: Message[], heard: string[]) =>
    new Channel<Text, Text>(
      (numbered, body = kNothing) => way.push({ numbered, body }),
      ({ text }) => heard.push(text),
    );
  const a = end(toB, heardByA);
  const b = end(toA, heardByB);
  const deliver = (to: Channel<Text, Text>, { numbered, body }: Message) =>
    to.receive(numbered, numbered, body);
  return { a, b, toA, toB, heardByA, heardByB, deliver };
}

describe("a channel", () => {
  test("gives what was said, in order", () => {
    const { a, b, toB, heardByB, deliver } = pair();
    for (const text of ["one", "two", "three"]) a.say({ text }, undefined, 0);
    for (const message of toB) deliver(b, message);
    expect(heardByB).toEqual(["one", "two", "three"]);
    expect(b.heard).toBe(3);
  });

  test("says nothing again that the other side has, or may still get", () => {
    const { a, b, toB, deliver } = pair();
    a.say({ text: "had" }, undefined, 1);
    a.say({ text: "on its way" }, undefined, 5);
    deliver(b, toB[0] as Message);
    a.confirmed(b.heard);
    toB.length = 0;
    a.repeat(5, 6); // an answer to what was said at 5, before the second
    expect(toB).toEqual([]);
    a.repeat(6, 7); // and one to what was said after it
    expect(toB.map(({ numbered }) => numbered.text)).toEqual(["on its way"]);
  });

  test("takes what the other side says for a receipt", () => {
    const { a, b, toA, toB, deliver } = pair();
    a.say({ text: "out" }, undefined, 1);
    deliver(b, toB[0] as Message);
    b.say({ text: "credit" }, undefined, 2);
    deliver(a, toA[0] as Message);
    toB.length = 0;
    a.repeat(Number.POSITIVE_INFINITY, 3);
    expect(toB).toEqual([]);
  });

  test("counts the headers of what comes early, too", () => {
    const { a, b, toB, heardByB } = pair();
    for (let at = 0; at < 4; at += 1) a.say({ text: `${at}` }, undefined, 0);
    const [first, ...early] = toB as Message[];
    const none = new Uint8Array(0);
    for (const { numbered } of early) b.receive(numbered, numbered, none, 2 * 1024 ** 2);
    if (first) b.receive(first.numbered, first.numbered, none);
    expect(heardByB).toEqual(["0", "1", "2"]);
  });

  test("keeps no more of what comes early than it may", () => {
    const { a, b, toB, heardByB, deliver } = pair();
    const body = new Uint8Array(1.5 * 1024 ** 2);
    for (let at = 0; at < 5; at += 1) a.say({ text: `${at}` }, body, 0);
    for (const message of toB.slice(1)) deliver(b, message); // 6 MiB
    deliver(b, toB[0] as Message);
    expect(heardByB).toEqual(["0", "1", "2"]);
    a.confirmed(b.heard);
    toB.length = 0;
    a.repeat(1, 1);
    for (const message of toB) deliver(b, message);
    expect(heardByB).toEqual(["0", "1", "2", "3", "4"]);
  });

  test("gives each once and in order, whatever is lost, doubled and turned round", () => {
    const fate = fc.record({
      isLost: fc.boolean(),
      copies: fc.integer({ min: 1, max: 3 }),
      place: fc.nat(),
    });
    const turns = fc.array(fc.record({ a: fc.nat(5), b: fc.nat(5), fates: fc.array(fate) }));
    fc.assert(
      fc.property(turns, (all) => {
        const { a, b, toA, toB, heardByA, heardByB, deliver } = pair();
        const saidByA: string[] = [];
        const saidByB: string[] = [];
        let now = 0;
        for (const turn of all) {
          now += 1;
          for (let i = 0; i < turn.a; i += 1) {
            saidByA.push(`a${saidByA.length}`);
            a.say({ text: saidByA.at(-1) ?? "" }, undefined, now);
          }
          for (let i = 0; i < turn.b; i += 1) {
            saidByB.push(`b${saidByB.length}`);
            b.say({ text: saidByB.at(-1) ?? "" }, undefined, now);
          }
          for (const { isLost, copies, place } of turn.fates) {
            for (const [way, to] of [[toA, a] as const, [toB, b] as const]) {
              const at = way.length === 0 ? -1 : place % way.length;
              const [message] = at < 0 ? [] : way.splice(at, 1);
              for (let i = 0; i < copies && message && !isLost; i += 1) deliver(to, message);
            }
          }
          if (turn.fates.length % 3 === 0) {
            a.confirmed(b.heard);
            a.repeat(now, now);
            b.confirmed(a.heard);
            b.repeat(now, now);
          }
        }
        for (const [from, to] of [[a, b] as const, [b, a] as const]) {
          from.confirmed(to.heard);
          (from === a ? toB : toA).length = 0; // all of it is lost
          from.repeat(now + 1, now + 1);
          for (const message of from === a ? toB : toA) deliver(to, message);
        }
        expect(heardByA).toEqual(saidByB);
        expect(heardByB).toEqual(saidByA);
      }),
    );
  });
});
