// As root too: owners and modes cross for root alone.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";

import { shellQuote } from "../../../../lib/text.js";
import { BubblewrapNativeRunner } from "../../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../../support/requirements.js";
import { copyOf, openPlace, run, shapeOf } from "./caller-and-worker.js";

const whyNot = isRoot
  ? undefined
  : "modes change at random, and an ordinary user can't look at all that comes of it";

const kNames = [
  "a",
  "b",
  "-rf",
  "a b",
  "new\nline",
  "ümläut",
  "\u{1f600}",
  "workspace",
  "*",
  ".hidden",
  "x".repeat(200),
];
const kPath = fc
  .array(fc.constantFrom(...kNames), { minLength: 1, maxLength: 3 })
  .map((names) => names.join("/"));

/** What a command may do; what can't be done, as where a directory is in the way, does nothing. */
const kStep = fc.oneof(
  fc.tuple(kPath, fc.string({ maxLength: 20 })).map(([path, text]) => {
    const quoted = shellQuote(`./${path}`);
    return `mkdir -p "$(dirname ${quoted})" && printf %s ${shellQuote(text)} > ${quoted}`;
  }),
  kPath.map((path) => `mkdir -p ${shellQuote(`./${path}`)}`),
  kPath.map((path) => `rm -rf ${shellQuote(`./${path}`)}`),
  kPath.map((path) => `echo more >> ${shellQuote(`./${path}`)}`),
  fc
    .tuple(kPath, kPath)
    .map(([from, to]) => `mv -T ${shellQuote(`./${from}`)} ${shellQuote(`./${to}`)}`),
  fc
    .tuple(kPath, kPath)
    .map(([target, path]) => `ln -snf ${shellQuote(target)} ${shellQuote(`./${path}`)}`),
  fc
    .tuple(kPath, fc.constantFrom("600", "755", "444", "700"))
    .map(([path, mode]) => `chmod ${mode} ${shellQuote(`./${path}`)}`),
);
const kScript = fc
  .array(kStep, { minLength: 1, maxLength: 12 })
  .map((steps) => steps.map((step) => `{ ${step}; } 2>/dev/null`).join("\n"));

const locally = (directory: string, script: string) =>
  execFileSync("/bin/sh", ["-c", `${script}\ntrue`], { cwd: directory });

/** What a run in a sandbox leaves, which has none of root's rights over modes. */
async function sandboxed(directory: string, script: string): Promise<void> {
  const runner = new BubblewrapNativeRunner({ shadowDir: directory, prewarm: 0 });
  await runner.exec({ argv: ["/bin/sh", "-c", script] });
  await runner.close();
}

describeSandboxed("a workspace that is moved by content", () => {
  testUnless(
    whyNot,
    "is after each run what a local run would have left",
    async () => {
      const place = await openPlace();
      const cases = Number(process.env.NATIVE_RUNNER_CASES ?? 12);
      await fc.assert(
        fc.asyncProperty(kScript, kScript, async (byHost, byCommand) => {
          locally(place.directory, byHost);
          const expected = copyOf(place.directory);
          await sandboxed(expected, byCommand);
          const { error, workerError } = await run(place, { script: `${byCommand}\ntrue` });
          expect(error ?? workerError).toBeUndefined();
          expect(shapeOf(place.directory)).toEqual(shapeOf(expected));
        }),
        { numRuns: cases, endOnFailure: true },
      );
    },
    300_000,
  );

  testUnless(
    whyNot,
    "is a conflict and as it was, or has the changes of both sides",
    async () => {
      const place = await openPlace();
      let conflicts = 0;
      const cases = Number(process.env.NATIVE_RUNNER_CASES ?? 12);
      await fc.assert(
        fc.asyncProperty(kScript, kScript, kScript, async (before, byHost, byCommand) => {
          locally(place.directory, before);
          let expected = "";
          const meanwhile = () => {
            locally(place.directory, byHost);
            expected = copyOf(place.directory);
          };
          const { error, report } = await run(place, { script: `${byCommand}\ntrue`, meanwhile });
          if (error) {
            expect(error).toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
            conflicts += 1;
            expect(shapeOf(place.directory)).toEqual(shapeOf(expected));
            return;
          }
          const touched = new Set(
            report?.committed.flatMap(({ path, from }) => [path, from ?? path]),
          );
          const now = shapeOf(place.directory);
          for (const [path, shape] of Object.entries(shapeOf(expected))) {
            if (!touched.has(path)) expect([path, now[path]]).toEqual([path, shape]);
          }
        }),
        { numRuns: cases, endOnFailure: true },
      );
      process.stderr.write(`${conflicts} of ${cases} were conflicts\n`);
    },
    300_000,
  );

  test("has a conflict where the host has put something in the way", async () => {
    const place = await openPlace();
    const folder = join(place.directory, "folder");
    mkdirSync(folder);
    const meanwhile = () => {
      rmSync(folder, { recursive: true });
      writeFileSync(folder, "the host's\n");
    };
    const { error } = await run(place, { script: "echo new > folder/new", meanwhile });
    expect(error).toMatchObject({ code: "ERR_TRANSACTION_CONFLICT", paths: ["folder/new"] });
    expect(readFileSync(folder, "utf8")).toBe("the host's\n");
  });

  test("moves only what differs", async () => {
    const place = await openPlace();
    for (let at = 0; at < 200; at += 1) writeFileSync(join(place.directory, `f${at}`), `${at}\n`);
    mkdirSync(join(place.directory, "empty"));
    symlinkSync("/etc/passwd", join(place.directory, "link"));
    writeFileSync(join(place.directory, "none"), "");
    chmodSync(join(place.directory, "f1"), 0o750);
    const script = "cat f* | sha256sum; stat -c %a f1 empty; readlink link; stat -c %s none";
    const { result } = await run(place, { script });
    expect(result?.stdoutText).toBe(
      execFileSync("/bin/sh", ["-c", script], { cwd: place.directory, encoding: "utf8" }),
    );
    writeFileSync(join(place.directory, "f2"), "other\n");
    unlinkSync(join(place.directory, "f3"));
    const again = await run(place, { script: "cat f2; ls f3 f4" });
    expect(again.result?.stdoutText).toBe("other\nf4\n");
    const times = "stat -c %Y f4";
    const there = await run(place, { script: times });
    expect(there.result?.stdoutText).toBe(
      execFileSync("/bin/sh", ["-c", times], { cwd: place.directory, encoding: "utf8" }),
    );
  });

  test("moves a file of many bytes there and back", async () => {
    const place = await openPlace();
    const size = 300 * 1024 * 1024 + 7;
    writeFileSync(join(place.directory, "big"), "begin");
    truncateSync(join(place.directory, "big"), size);
    const { error, result } = await run(place, { script: "stat -c %s big; mv big large" });
    expect(error).toBeUndefined();
    expect(result?.stdoutText).toBe(`${size}\n`);
    expect(statSync(join(place.directory, "large")).size).toBe(size);
  }, 120_000);
});
