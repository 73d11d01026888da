/** demo-node --once: a request, the model's tool calls, what is shown, and what reaches the project. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BubblewrapNativeRunner } from "@openagentic/native-runner";
import { beforeAll, describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { tempDirectory } from "../support/temp.js";
import {
  type Call,
  runDemo,
  runOnce,
  startDemo,
  type Turn,
  transactionsBelow,
} from "./support/run-demo.js";
import { makeProject, readTree } from "./support/tree.js";

const kTree = { "src/sum.js": "export const sum = (a, b) => a - b;\n", README: "sum\n" };

const kFix: Turn[] = [
  { text: "Let me look.", calls: [{ script: "cat src/sum.js" }] },
  { calls: [{ script: "sed -i 's/a - b/a + b/' src/sum.js" }, { script: "echo ok > NEW" }] },
  { text: "Fixed." },
];

describe("a request", () => {
  test("goes to the model with the tool, and the tool's answers with it", async () => {
    const project = makeProject(kTree);
    const args = ["--model", "some-model"];
    const { requests, answers } = await runOnce({ project, turns: kFix, args });
    expect(requests).toHaveLength(3);
    const [first] = requests;
    expect(first?.model).toBe("some-model");
    expect(first?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(first?.messages[1]?.content).toBe("do it");
    expect(first?.tools).toMatchObject([
      { type: "function", function: { name: "Bash", parameters: { required: ["command"] } } },
      {
        type: "function",
        function: { name: "RequestAccess", parameters: { required: ["denial"] } },
      },
    ]);
    expect(requests[2]?.messages.map(({ role }) => role)).toEqual(
      "system user assistant tool assistant tool tool".split(" "),
    );
    expect(answers).toEqual([
      `${kTree["src/sum.js"]}[exit code 0]`,
      "[exit code 0]",
      "[exit code 0]",
    ]);
  });

  test("shows the model's words, the commands while they run, and what has changed", async () => {
    const { out, err } = await runOnce({ project: makeProject(kTree), turns: kFix });
    expect(out).toBe(
      "Let me look.\nFixed.\n" +
        "changes, not in the project yet (--commit writes them):\n" +
        "  A NEW  +1 -0\n  M src/sum.js  +1 -1\n",
    );
    expect(err).toMatch(/^\$ cat src\/sum\.js\n {2}\| export const sum.*\n {2}= exit code 0, \d/m);
  });

  test("streams: a command's output is shown before it ends", async () => {
    const project = makeProject(kTree);
    const go = join(tempDirectory(), "go");
    const script = `echo waiting; until test -e ${go}; do sleep 0.05; done`;
    const turns = [{ calls: [{ script }] }, { text: "done" }];
    const demo = await startDemo({ project, turns, args: ["--once", "x"] });
    await eventually("the output is shown", () => demo.said().includes("| waiting"));
    writeFileSync(go, "");
    expect((await demo.ended).code).toBe(0);
  });

  test("changes nothing in the project without --commit, all of it with", async () => {
    const project = makeProject(kTree);
    await runOnce({ project, turns: kFix });
    expect(readTree(project)).toEqual(kTree);
    const { out } = await runOnce({ project, turns: kFix, args: ["--commit"] });
    expect(out).toMatch(/committed:\n {2}A NEW .*\n {2}M src\/sum\.js .*\n$/);
    expect(readTree(project)).toEqual({
      ...kTree,
      NEW: "ok\n",
      "src/sum.js": "export const sum = (a, b) => a + b;\n",
    });
  });

  test("that meets a conflict writes nothing, says where, and keeps the work", async () => {
    const project = makeProject(kTree);
    const edit = () => writeFileSync(join(project, "src/sum.js"), "edited meanwhile\n");
    const turns = [...kFix.slice(0, -1), { text: "Fixed.", meanwhile: edit }];
    const run = await runDemo({ project, turns, args: ["--once", "x", "--commit"] });
    expect(run.code).toBe(1);
    expect(run.out).toContain(
      "conflict: nothing was written to the project\n" +
        "  src/sum.js: was changed in the project meanwhile\n",
    );
    expect(readTree(project)).toEqual({ ...kTree, "src/sum.js": "edited meanwhile\n" });
    const id = run.out.match(/^the changes wait in transaction (\w+): /m)?.[1] ?? "";
    expect(run.left).toEqual([id]);
    const directory = transactionsBelow(run.state);
    const opener = new BubblewrapNativeRunner({ shadowDir: project });
    const kept = await opener.resumeTransaction(id, { directory });
    expect(await kept.files.readText("NEW")).toBe("ok\n");
    await kept.discard();
  });
});

describe("what the model may get wrong is answered in words, and the talk goes on", () => {
  const kCalls: [string, Call, RegExp][] = [
    ["another tool", { name: "Python", script: "1" }, /^\[not run: there is no tool "Python"/],
    ["no JSON", { arguments: '{"command": "ls' }, /^\[not run: the arguments are no JSON/],
    ["no command", { arguments: {} }, /^\[not run: command: .*undefined/],
    ["an empty one", { script: "" }, /^\[not run: command: /],
    ["one of another type", { arguments: { command: ["ls"] } }, /^\[not run: command: .*Array/],
    ["an unknown field", { arguments: { command: "ls", user: "root" } }, /^\[not run: .*user/],
    ["a wrong time", { arguments: { command: "ls", timeout_ms: 0 } }, /^\[not run: timeout_ms: /],
    ["a NUL", { script: "echo a\0b" }, /^\[not run: the command holds a NUL/],
    [
      "a missing program",
      { script: "no-such-program" },
      /no-such-program: .*not found\n\[exit code 127\]$/,
    ],
    [
      "a command too long to start",
      { script: `: ${"x".repeat(200_000)}` },
      /could not be executed\]$/,
    ],
  ];
  let run: ReturnType<typeof runOnce>;
  beforeAll(() => {
    const calls = [...kCalls.map(([, call]) => call), { script: "echo fine" }];
    const turns = [{ calls }, { text: "I see." }];
    run = runOnce({ project: makeProject(kTree), turns });
  });

  test.each(kCalls.map(([what, , expected], index) => ({ what, expected, index })))(
    "$what",
    async ({ expected, index }) => {
      const { answers } = await run;
      expect(answers[index]).toMatch(expected);
    },
  );

  test("what is right is run", async () => {
    const { answers, out } = await run;
    expect(answers.at(-1)).toBe("fine\n[exit code 0]");
    expect(out).toContain("I see.\n");
  });
});

describe("a command", () => {
  test("may be given more input than it reads: 3 MB to true", async () => {
    const stdin = "x".repeat(3_000_000);
    const turns = [
      {
        calls: [
          { arguments: { command: "true", stdin } },
          { arguments: { command: "wc -c", stdin } },
        ],
      },
      { text: "done" },
    ];
    const { answers } = await runOnce({ project: makeProject(kTree), turns });
    expect(answers).toEqual(["[exit code 0]", "3000000\n[exit code 0]"]);
  });

  test("tells the model of its errors, and of output that is too long for it", async () => {
    const turns = [
      { calls: [{ script: "echo out; echo oops >&2; exit 3" }, { script: "kill -TERM $$" }] },
      { calls: [{ script: "echo first; seq 100000 | sed 's/$/ \u{1f600}/'; echo last" }] },
      { text: "done" },
    ];
    const { answers } = await runOnce({ project: makeProject(kTree), turns });
    expect(answers.slice(0, 2)).toEqual([
      "out\n[stderr]\noops\n[exit code 3]",
      "[ended by SIGTERM]",
    ]);
    const long = answers[2] ?? "";
    expect(long).toMatch(/^first\n1 /);
    expect(long).toMatch(/\n\[\.\.\. [\d,]+ bytes left out \.\.\.\]\n/);
    expect(long).toMatch(/\nlast\n\[exit code 0\]$/);
    expect(long).not.toContain("\uFFFD");
    expect(long.length).toBeLessThan(20_000);
  });

  test("can't write to the user's terminal but text", async () => {
    const evil = "\u001b]0;title\u0007\u001b[2Jgone\u009b1m\r\u202eback";
    const turns = [
      {
        text: `model: ${evil}`,
        calls: [{ arguments: { command: "cat; touch \"$(printf 'a\\033[2Jb')\"", stdin: evil } }],
      },
      { text: "done" },
    ];
    const { out, err } = await runOnce({ project: makeProject(kTree), turns });
    for (const text of [out, err]) {
      expect(text).toMatch(/gone/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    expect(out).toContain("  A ab  ");
  });
});

describe("what fails is said in a line, without a stack trace", () => {
  const project = makeProject(kTree);

  test.each([
    [
      "an answer that is an error",
      [{ status: 401, text: "no such key" }],
      /endpoint: 401 no such key/,
    ],
    [
      "an answer that breaks off",
      [{ text: "I", end: "cut" as const }],
      /^demo-node: the model's endpoint: /m,
    ],
  ])("%s", async (_, turns, expected) => {
    const run = await runDemo({ project, turns, args: ["--once", "x"] });
    expect(run).toMatchObject({ code: 1, left: [] });
    expect(run.err).toMatch(expected);
    expect(run.err).not.toMatch(/^ {4}at /m);
  });

  test("a model that never comes to an end", async () => {
    const turns = Array.from({ length: 5 }, () => ({ calls: [{ script: "true" }] }));
    const run = await runDemo({ project, turns, args: ["--once", "x", "--max-rounds", "3"] });
    expect(run).toMatchObject({ code: 1, left: [] });
    expect(run.err).toContain("not done after 3 rounds (--max-rounds)");
    expect(run.requests).toHaveLength(3);
  });

  test.each([
    [["--commit"], {}, /--commit needs --once/],
    [["--nosuch"], {}, /unknown option '--nosuch'/],
    [["--once", "x", "--max-rounds", "0"], {}, /whole number above 0/],
    [["--once", "x", "--secret", "NONE@a.test"], {}, /a variable NONE that is set/],
    [["--once", "x", "--secret", "HOME"], {}, /Expected NAME@HOST/],
    [["--once", "x", "--secret", "HOME@a.test"], {}, /--secret needs OPENAGENTIC_PROCESS_SANDBOX/],
    [["--mcp", "--secret", "HOME@a.test"], {}, /--mcp and --secret exclude each other/],
    [["--once", "x", "--project", "/nonexistent"], {}, /--project \/nonexistent is no directory/],
    [["--once", "x"], { OPENAI_API_KEY: "", OPENAI_BASE_URL: "" }, /OPENAI_API_KEY is not set/],
  ])("misuse: %j", async (args, env, expected) => {
    const run = await runDemo({ project, turns: [], args, env });
    expect(run).toMatchObject({ code: 2, left: [], requests: [] });
    expect(run.err).toMatch(expected);
  });
});

test("a reader that goes away ends it quietly, and leaves nothing behind", async () => {
  const demo = await startDemo({
    project: makeProject(kTree),
    turns: [{ text: "Well" }, { text: "never" }],
    args: ["--once", "x"],
  });
  demo.child.stdout.destroy();
  const run = await demo.ended;
  expect(run).toMatchObject({ code: 130, left: [] });
  expect(run.err).not.toMatch(/^ {4}at |EPIPE/m);
});

describe("an interrupt", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "by %s ends the command and the demo, and leaves nothing behind",
    async (signal) => {
      const mark = newMark();
      const demo = await startDemo({
        project: makeProject(kTree),
        turns: [{ calls: [{ script: "echo up; sleep 1000" }, { script: "touch never" }] }],
        args: ["--once", "x"],
        env: { [kMarker]: mark },
      });
      await eventually("the command runs", () => demo.said().includes("| up"));
      demo.child.kill(signal);
      const run = await demo.ended;
      expect(run).toMatchObject({ code: 130, left: [] });
      expect(run.err).toMatch(/interrupted by the user[\s\S]*demo-node: interrupted\n$/);
      expect(run.requests).toHaveLength(1);
      expect(marked(mark)).toEqual([]);
    },
  );

  test("ends a request that the model does not answer", async () => {
    const demo = await startDemo({
      project: makeProject(kTree),
      turns: [{ text: "Well", end: "hang" }],
      args: ["--once", "x"],
    });
    await eventually("the model has begun", () => demo.said().includes("Well"));
    demo.child.kill("SIGINT");
    expect(await demo.ended).toMatchObject({ code: 130, left: [] });
  });
});
