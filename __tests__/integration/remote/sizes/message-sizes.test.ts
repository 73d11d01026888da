/**
 * What is asked for and what is answered, of any size: arguments, environment and input come as they were given, around
 * each bound of the wire, and what is too long to be sent is told by its field, at once.
 */

import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { kMostRequestBytes } from "../../../../lib/remote/caller/request-of.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kKiB = 1024;
const kMiB = kKiB ** 2;
/** Linux takes no text of 128 KiB among arguments and variables. */
const kText = 100 * kKiB;
const hashOf = (...texts: (string | Uint8Array)[]) => {
  const hash = createHash("sha256");
  for (const each of texts) hash.update(each);
  return hash.digest("hex");
};

/** So many bytes, in texts that an argument may have. Not all of it is ASCII. */
function textsOf(bytes: number): string[] {
  const texts: string[] = [];
  for (let left = bytes; left > 0; left -= kText) {
    const size = Math.min(left, kText);
    texts.push("ö".repeat(Math.floor(size / 2)) + "x".repeat(size % 2));
  }
  return texts;
}

/** Around what goes in one message, with a grant, and in pieces. */
const kSizes = [0, 1, 127, 128, 129, 191, 192, 255, 256, 257, 511, 512, 1023, 1024, 1500].map(
  (kib) => kib * kKiB,
);

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "what is asked for", () => {
  let runner: RemoteNativeRunner;
  beforeAll(async () => {
    const server = await startNatsServer();
    await startWorker({ server: server.url });
    runner = new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool: "tests", workspace: tempDirectory() },
    });
  }, 120_000);
  afterAll(() => runner.close());

  test.each(kSizes)("has %d bytes of arguments", async (bytes) => {
    const texts = textsOf(bytes);
    const script = 'printf %s "$@" | sha256sum';
    const result = await runner.exec({ argv: ["bash", "-c", script, "bash", ...texts] });
    // printf without arguments prints nothing.
    expect(result).toMatchObject({ outcome: { kind: "exited" }, exitCode: 0 });
    expect(result.stdoutText).toBe(`${hashOf(...texts)}  -\n`);
  });

  test.each(kSizes)("has %d bytes of environment", async (bytes) => {
    const texts = textsOf(bytes);
    const names = texts.map((_, n) => `PART_${n}`);
    const env = Object.fromEntries(texts.map((text, n) => [`PART_${n}`, text]));
    const words = names.map((name) => `"$${name}"`).join(" ");
    const argv = ["bash", "-c", `printf %s ${words || "''"} | sha256sum`];
    const result = await runner.exec({ argv, env });
    expect(result).toMatchObject({ outcome: { kind: "exited" }, exitCode: 0 });
    expect(result.stdoutText).toBe(`${hashOf(...texts)}  -\n`);
  });

  const kInputs = [...kSizes, 2 * kMiB, 17 * kMiB];
  test.each(kInputs.flatMap((bytes) => [-1, 0, 1].map((more) => Math.max(0, bytes + more))))(
    "has %d bytes of input",
    async (bytes) => {
      const stdin = Buffer.alloc(bytes, "what is read, of which some is ö ");
      const result = await runner.exec({ argv: ["sha256sum"], stdin });
      expect(result.stdoutText).toBe(`${hashOf(stdin)}  -\n`);
    },
  );

  test.each([300 * kKiB, 3 * kMiB, 12 * kMiB])("is a batch of %d bytes", async (bytes) => {
    const texts = textsOf(bytes);
    const commands = texts.map((text) => ["sh", "-c", 'printf %s "$1" | wc -c', "sh", text]);
    const results = await runner.execBatch(commands);
    expect(results.map(({ stdoutText }) => Number(stdoutText))).toEqual(
      texts.map((text) => Buffer.byteLength(text)),
    );
  });

  describe("and is too long", () => {
    const long = "x".repeat(kMostRequestBytes);
    const wide = "\u0001".repeat(kMostRequestBytes / 6);
    const kLong: [string, string, (text: string) => Promise<unknown>][] = [
      ["exec", "argv", (text) => runner.exec({ argv: ["true", text] })],
      ["exec", "env", (text) => runner.exec({ argv: ["true"], env: { TEXT: text } })],
      ["exec", "cwd", (text) => runner.exec({ argv: ["true"], cwd: text })],
      ["spawn", "argv", (text) => runner.spawn({ argv: ["true", text] })],
      ["execBatch", "commands", (text) => runner.execBatch([["true"], ["true", text]])],
      ["explain", "argv", (text) => runner.explain({ argv: ["true", text] })],
    ];
    test.each(kLong)(
      "is refused at once by %s, which names `%s` and its size",
      async (_, field, run) => {
        for (const text of [long, wide]) {
          await expect(run(text)).rejects.toMatchObject({
            name: "RangeError",
            code: "ERR_OUT_OF_RANGE",
            message: expect.stringMatching(
              new RegExp(
                `^Expected \`${field}\` to have at most \\d+ bytes as it is sent .*, got \\d{8}$`,
              ),
            ) as string,
          });
        }
      },
    );

    test("but not if it is just short enough: then the worker says what it makes of it", async () => {
      const text = "x".repeat(kMostRequestBytes - 1_000);
      const { outcome } = await runner.exec({ argv: ["true", text] });
      expect(outcome).toMatchObject({ kind: "not-executable" });
    });
  });

  test("is answered also where the results are too long to be sent", async () => {
    // A result has more than was asked for: these are just short enough, and their results are not.
    const commands = Array.from({ length: Math.floor(kMostRequestBytes / (kText + 4)) }, () => [
      "n".repeat(kText),
    ]);
    const answer = await runner.execBatch(commands, { stopOnError: false }).then(
      (results) => `${results.length} results`,
      (error: unknown) => error,
    );
    expect(answer).toMatchObject({
      name: "RangeError",
      message: expect.stringContaining("its results are too long") as string,
    });
    const few = await runner.execBatch(commands.slice(0, 3), { stopOnError: false }); // the control
    expect(few).toHaveLength(3);
  });
});
