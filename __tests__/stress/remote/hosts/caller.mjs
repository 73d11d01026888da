/**
 * A caller in a process of its own. Reads its plan from standard input, as JSON; writes a line of JSON for each call
 * and for each settlement, with the time. An unhandled rejection is a line too.
 */

import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

import { RemoteNativeRunner } from "../../../../dist/adapters/remote.js";

const say = (line) => process.stdout.write(`${JSON.stringify({ at: Date.now(), ...line })}\n`);
process.on("unhandledRejection", (error) => say({ unhandled: String(error?.stack ?? error) }));
process.on("uncaughtException", (error) => say({ unhandled: String(error?.stack ?? error) }));

const { options, runs, script, marker, keepOpenMs = 0 } = JSON.parse(await text(process.stdin));
const runner = new RemoteNativeRunner(options);

const linesOf = ({ id, steps }) =>
  Array.from({ length: steps }, (_, step) => `step ${step} of ${id}\n`).join("");
const argvOf = ({ id, steps, extra = 0 }, mode) => [
  "bash",
  "-c",
  script,
  marker,
  String(id),
  String(steps),
  mode,
  String(extra),
];
const decoder = new TextDecoder();

/** Each way to run one, and whether what it wrote was right. */
const kinds = {
  async exec(run) {
    const result = await runner.exec({ argv: argvOf(run, "plain"), ...run.input });
    return { result, isRight: result.stdoutText === linesOf(run) };
  },
  /** Looks at the output as it comes. */
  async live(run) {
    const pieces = [];
    const onStdout = (piece) => pieces.push(piece);
    const result = await runner.exec({ argv: argvOf(run, "plain"), onStdout, ...run.input });
    const seen = decoder.decode(Buffer.concat(pieces));
    return { result, isRight: seen === linesOf(run) && result.stdoutText === seen };
  },
  /** More standard input than goes with a grant; the command gives back how much it was, and its sum. */
  async input(run) {
    const stdin = Buffer.alloc(run.bytes, `${run.id} is what it reads `);
    const result = await runner.exec({ argv: argvOf(run, "sum"), stdin });
    const { createHash } = await import("node:crypto");
    const sum = createHash("sha256").update(stdin).digest("hex");
    return { result, isRight: result.stdoutText.trim() === `${sum}  -` };
  },
  /** More output than goes at once, looked at as it comes. */
  async flood(run) {
    let seen = 0;
    const onStdout = (piece) => {
      seen += piece.length;
    };
    const argv = argvOf({ ...run, extra: run.bytes }, "flood");
    const result = await runner.exec({ argv, onStdout, ...run.input });
    const lengths = [result.stdout.length, seen, run.bytes];
    const isWhole = result.stdout.length === run.bytes && result.stdout.every((byte) => byte === 0);
    return { result, isRight: isWhole && seen === run.bytes, lengths };
  },
  /** Speaks with it: what it is told comes back, in order. */
  async spawn(run) {
    const live = await runner.spawn({ argv: argvOf(run, "echo") });
    let seen = "";
    live.stdout.setEncoding("utf8").on("data", (piece) => {
      seen += piece;
    });
    for (let step = 0; step < run.steps; step += 1) {
      live.stdin.write(`step ${step} of ${run.id}\n`);
      await delay(run.everyMs ?? 50);
    }
    live.stdin.end();
    const result = await live.result;
    return { result, isRight: seen === linesOf(run) };
  },
};

async function follow(run) {
  await delay(run.afterMs ?? 0);
  say({ call: run.id, kind: run.kind });
  try {
    const { result, isRight, lengths } = await kinds[run.kind](run);
    const { outcome, exitCode, audits } = result;
    say({ settled: run.id, exitCode, isRight, lengths, timing: audits[0]?.timing, outcome });
  } catch (error) {
    say({ settled: run.id, thrown: `${error?.code} ${error?.message}` });
  }
}

await Promise.all(runs.map(follow));
say({ done: true, residentBytes: process.memoryUsage.rss() });
await delay(keepOpenMs);
await runner.close();
say({ closed: true });
