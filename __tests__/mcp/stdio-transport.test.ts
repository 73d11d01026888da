import { PassThrough } from "node:stream";
import * as sdk from "@modelcontextprotocol/server";

import { expect, test } from "vitest";

import { idOfLong, kLongestMessage, LineReader, StdioTransport } from "../../lib/mcp/stdio.js";

/** What a reader says of bytes that come in pieces of `size`. */
function read(bytes: Buffer, size: number, most: number) {
  const said: string[] = [];
  const reader = new LineReader(most, {
    onLine: (line) => said.push(line),
    onLong: (begin, end) => said.push(`long ${begin.slice(0, 3)}…${end.slice(-3)}`),
  });
  for (let at = 0; at < bytes.length; at += size) reader.take(bytes.subarray(at, at + size));
  return said;
}

test("lines are the same however they come in pieces", () => {
  const lines = ["one", "", "zwölf €uro", "crlf\r", `abc${"x".repeat(50)}xyz`, "𝄞 after", "last"];
  const bytes = Buffer.from(`${lines.join("\n")}\nno end`);
  const expected = ["one", "zwölf €uro", "crlf\r", "long abc…xyz", "𝄞 after", "last"];
  for (let size = 1; size <= bytes.length; size += 1) {
    expect(read(bytes, size, 20), `${size}`).toEqual(expected);
  }
});

test("a line of as many bytes as may be is one, and the next longer is not", () => {
  for (const size of [1, 7, 100]) {
    expect(read(Buffer.from(`${"x".repeat(20)}\n`), size, 20)).toEqual(["x".repeat(20)]);
    expect(read(Buffer.from(`${"x".repeat(21)}\n`), size, 20)).toEqual(["long xxx…xxx"]);
  }
});

const request = (id: unknown, text: string) => ({
  ...{ method: "tools/call", params: { name: "run", arguments: { id: 99, command: text } } },
  ...{ jsonrpc: "2.0", id },
});
const kText = "y".repeat(2000);

test.each([
  ["at the end", request(7, kText), 7],
  ["at the beginning", Object.assign({ jsonrpc: "", id: 0 }, request(1, kText)), 1],
  ["a text", request("a-7", kText), "a-7"],
  ["within the arguments alone", { ...request(undefined, kText) }, undefined],
  ["of an answer", { result: { text: kText }, jsonrpc: "2.0", id: 7 }, undefined],
  ["of no kind", request({ id: 7 }, kText), undefined],
])("the id of a request that is too long: %s", (_, message, id) => {
  const line = JSON.stringify(message);
  expect(idOfLong(line.slice(0, 512), line.slice(-512))).toBe(id);
});

test("the id of a request that is too long, with nothing behind the arguments", () => {
  const begin = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run"';
  expect(idOfLong(begin, `${kText}"}}}`)).toBe(3);
  expect(idOfLong('{"params":{"id":3,"method":"x"', `${kText}"}}}`)).toBeUndefined();
});

function connected() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioTransport(input, output, sdk);
  const seen: unknown[] = [];
  transport.onmessage = (message) => seen.push(message);
  transport.onerror = (error) => seen.push(error.message.slice(0, 20));
  return { input, output, transport, seen };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("what is no message, or too long, is passed over, and the next is served", async () => {
  const { input, output, transport, seen } = connected();
  await transport.start();
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  input.write("nonsense\n{}\n[]\n");
  input.write(`${JSON.stringify(request(5, "z".repeat(kLongestMessage)))}\n`);
  input.write(`${JSON.stringify(ping)}\n`);
  await turn();
  expect(seen).toHaveLength(4); // three that are none
  expect(seen.at(-1)).toEqual(ping);
  expect(JSON.parse(String(output.read()))).toEqual({
    ...{ jsonrpc: "2.0", id: 5 },
    error: { code: -32600, message: "the message is longer than 16 MiB" },
  });
});

test.each(["end", "input destroyed", "output destroyed"] as const)(
  "closes once: %s",
  async (how) => {
    const { input, output, transport } = connected();
    let closed = 0;
    transport.onclose = () => {
      closed += 1;
    };
    await transport.start();
    if (how === "end") input.end();
    else if (how === "input destroyed") input.destroy();
    else output.destroy(new Error("EPIPE"));
    await turn();
    await turn();
    await transport.close();
    expect(closed).toBe(1);
    await expect(transport.send({ jsonrpc: "2.0", method: "x" })).rejects.toThrow(/closed/);
  },
);

test("sending waits for a reader, and for no longer than there is one", async () => {
  const { output, transport } = connected();
  await transport.start();
  const large = { jsonrpc: "2.0" as const, method: "x", params: { text: "x".repeat(100_000) } };
  const sent = Promise.all([transport.send(large), transport.send(large)]);
  let isSent = false;
  void sent.then(() => {
    isSent = true;
  });
  await turn();
  expect(isSent).toBe(false);
  output.resume();
  await sent;
  output.pause();
  const last = transport.send(large);
  output.destroy();
  await last;
});
