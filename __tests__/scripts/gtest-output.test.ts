import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { runGtest } from "../../scripts/lib/gtest.mjs";
import { GtestOutput, testsListed } from "../../scripts/lib/gtest-output.mjs";

it("lists tests, also ones with parameters", () => {
  const text =
    "Running main()\nPoll.\n  Reads\n  Ends\nModes/LandlockTest.\n  Refuses/Init  # GetParam() = 1\n";
  expect(testsListed(text)).toEqual(["Poll.Reads", "Poll.Ends", "Modes/LandlockTest.Refuses/Init"]);
});

const resultsOf = (text: string) => {
  const output = new GtestOutput();
  for (const line of text.split("\n")) output.take(line);
  return output;
};

describe("what a program prints", () => {
  it("has a result for each test", () => {
    const { results, current } = resultsOf(
      [
        "[ RUN      ] A.Passes",
        "some outp[       OK ] A.Passes (3 ms)",
        "[ RUN      ] A.Fails/0",
        "file.cpp:1: Failure",
        "[  FAILED  ] A.Fails/0, where GetParam() = 1 (0 ms)",
        "[ RUN      ] A.Lacks",
        "file.cpp:9: Skipped",
        "root may",
        "",
        "[  SKIPPED ] A.Lacks (0 ms)",
        "[  FAILED  ] A.Fails/0, where GetParam() = 1",
      ].join("\n"),
    );
    expect(results.map(({ name, state }) => [name, state])).toEqual([
      ["A.Passes", "passed"],
      ["A.Fails/0", "failed"],
      ["A.Lacks", "skipped"],
    ]);
    expect(results[1]?.output).toBe("file.cpp:1: Failure");
    expect(results[2]?.reason).toBe("root may");
    expect(current).toBeUndefined();
  });

  it("tells which test the program did not survive", () => {
    const output = resultsOf("[ RUN      ] A.Crashes\nabout to");
    expect(output.current).toBe("A.Crashes");
    output.endWith("the process ended with SIGSEGV");
    expect(output.results).toMatchObject([
      { name: "A.Crashes", state: "failed", output: "about to\nthe process ended with SIGSEGV" },
    ]);
  });
});

/** A program like a GoogleTest one, in shell: each test is a line of its script. */
const program = (tests: Record<string, string>) => `#!/bin/sh
case $1 in --gtest_list_tests) echo "T."; ${Object.keys(tests)
  .map((name) => `echo "  ${name}"`)
  .join("; ")}; exit 0 ;; esac
status=0
${Object.entries(tests)
  .map(
    ([name, body]) => `case ":\${1#--gtest_filter=}:" in *:T.${name}:*)
  echo "[ RUN      ] T.${name}"; ${body} ;; esac`,
  )
  .join("\n")}
exit $status
`;
const ok = (name: string) => `echo "[       OK ] T.${name} (0 ms)"`;

describe("running a program", () => {
  let directory = "";
  const said: string[] = [];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "gtest-"));
    said.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: string) => void said.push(line));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(directory, { recursive: true });
  });
  const run = (tests: Record<string, string>, boundMs = 20_000) => {
    const file = join(directory, "tests");
    writeFileSync(file, program(tests));
    chmodSync(file, 0o755);
    return runGtest([file], { boundMs });
  };

  it("counts what passes", async () => {
    const counts = await run({ A: ok("A"), B: ok("B") });
    expect(counts).toEqual({ passed: 2, failed: [], skipped: [] });
    expect(said).toEqual([]);
  });

  it("goes on behind a test that crashes, which has failed", async () => {
    const counts = await run({ A: ok("A"), B: "kill -SEGV $$", C: ok("C") });
    expect(counts).toMatchObject({ passed: 2, failed: [{ name: "T.B" }], skipped: [] });
    expect(said.join("\n")).toMatch(/FAILED: T\.B\n.*SIGSEGV/);
  });

  it("goes on behind a test that hangs, which has failed", async () => {
    const counts = await run({ A: ok("A"), B: "exec sleep 20", C: ok("C") }, 1000);
    expect(counts).toMatchObject({ passed: 2, failed: [{ name: "T.B" }], skipped: [] });
    expect(said.join("\n")).toMatch(/FAILED: T\.B\n.*not done after 1000 ms/);
  });

  it("fails where the program fails after its tests, as a leak checker makes it", async () => {
    const counts = await run({ A: `${ok("A")}; echo leaked; status=23` });
    expect(counts.failed).toHaveLength(1);
    expect(said.join("\n")).toMatch(/after its tests\nleaked\n.*ended with 23/);
  });

  it("fails all tests of a program that runs none of them", async () => {
    const one = await run({ A: "exit 1", B: ok("B") });
    expect(one).toMatchObject({ passed: 1, failed: [{ name: "T.A" }] });
    const none = await run({ A: "", B: "" });
    expect(none.passed).toBe(0);
    expect(none.failed.map(({ name }) => name).sort()).toEqual(["T.A", "T.B"]);
  });
});
