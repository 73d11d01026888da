/** Values in what servers answer. */

import { expect, test } from "vitest";

import { MaskingStream, masked } from "../../lib/secrets/mask.js";

const kMasks = new Map([
  ["value-of-one", "PLACEHOLDER1"],
  ["ghp_another-value", "ghp_PLACEHOLDER-2"],
]);

async function through(chunks: readonly string[]): Promise<string[]> {
  const stream = new MaskingStream(kMasks);
  const seen: string[] = [];
  stream.on("data", (chunk: Buffer) => seen.push(chunk.toString("latin1")));
  for (const chunk of chunks) stream.write(Buffer.from(chunk, "latin1"));
  stream.end();
  await new Promise((resolve) => stream.on("end", resolve));
  return seen;
}

const kText =
  "a value-of-one, ghp_another-value; value-of-on value-of-onevalue-of-one \xff ghp_ value-of-one";

test("are gone, however they are split", async () => {
  const whole = masked(kText, kMasks);
  expect(whole).not.toContain("value-of-one");
  expect(whole).toContain("value-of-on ");
  for (let size = 1; size <= kText.length; size += 1) {
    const chunks = kText.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect((await through(chunks)).join(""), `${size}`).toBe(whole);
  }
});

test("nothing waits but what may be the beginning of one", async () => {
  expect(await through(["data: x\n\n", "data: value-", "of-one\n\n"])).toEqual([
    "data: x\n\n",
    "data: ",
    "PLACEHOLDER1\n\n",
  ]);
});

test("a pause passes on what tells nothing of a value, and no more", async () => {
  const stream = new MaskingStream(kMasks);
  let seen = "";
  stream.on("data", (chunk: Buffer) => {
    seen += chunk.toString("latin1");
  });
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
  for (const [sent, expected] of [
    ["ping v", "ping v"],
    ["alu", "ping va"],
    ["e-of-one", "ping vaACEHOLDER1"],
    [" big", " big"],
    ["ghp_ano", "gh"],
    ["ther-value!", "p_PLACEHOLDER-2!"],
    ["gh", "gh"],
    ["ost", "ost"],
  ] as const) {
    seen = sent === "alu" || sent === "e-of-one" ? seen : "";
    stream.write(Buffer.from(sent, "latin1"));
    await pause();
    expect(seen).toBe(expected);
  }
});
