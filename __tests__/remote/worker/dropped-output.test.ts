import { expect, test } from "vitest";

import { Output } from "../../../lib/remote/worker/streams.js";

test("output that is dropped counts as sent, so that its end is not taken for whole", async () => {
  const sent: [number, number][] = [];
  const output = new Output(4, (_stream, at, bytes) => sent.push([at, bytes.length]));
  output.push(1, new Uint8Array(10));
  expect(output.reported).toEqual({ sent: [4, 0], isCut: false });
  output.drop();
  expect(sent).toEqual([[0, 4]]);
  expect(output.reported).toEqual({ sent: [10, 0], isCut: true });
  expect((await output.rest()).map(({ length }) => length)).toEqual([0, 0]);
});

test("output that nobody drops goes with the end", async () => {
  const output = new Output(4, () => {});
  output.push(1, new Uint8Array(10));
  expect((await output.rest()).map(({ length }) => length)).toEqual([6, 0]);
});
