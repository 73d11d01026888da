/** The suite of pages fails for an example that is broken, each beside one that is not. */

import { describe, expect, it } from "vitest";

import { describeSandboxed } from "../support/requirements.js";
import { blocksOf, examplesOf } from "./code-blocks.js";
import { runExample } from "./run-example.js";
import { matchesShown } from "./shown-output.js";

/** A page of blocks; `'''` is a fence. */
const run = async (page: string): Promise<void> => {
  const blocks = blocksOf("page.md", `# Page\n\n${page.replaceAll("'''", "```")}\n`);
  for (const example of examplesOf(blocks)) await runExample(example);
};

const kPackage = '"@openagentic/native-runner"';
const runs = (page: string) => expect(run(page)).resolves.toBeUndefined();
const fails = (page: string, message: string | RegExp) =>
  expect(run(page)).rejects.toThrow(message);

describeSandboxed("an example fails when", () => {
  it("JavaScript throws", async () => {
    await runs(`'''js\nimport { isNested } from ${kPackage};\nawait isNested();\n'''`);
    await fails(`'''js\nimport { isNested } from ${kPackage};\nthrow 1;\n'''`, "page.md:3 (js)");
  });

  it("it is a syntax error for this Node", async () => {
    await fails("'''js\nconst = 1;\n'''", "SyntaxError");
  });

  it("an export that it uses is missing", async () => {
    await fails(`'''js\nimport { Missing } from ${kPackage};\n'''`, "Missing");
  });

  it("its output is not what is shown", async () => {
    await runs("'''js\nconsole.log(1)\n'''\n\n'''\n1\n'''");
    await fails("'''js\nconsole.log(1)\n'''\n\n'''\n2\n'''", "but what came is\n1");
  });

  it("TypeScript has a wrong type, or throws", async () => {
    const types = `import type { NativeLimits } from ${kPackage};\n`;
    await runs(`'''ts\n${types}const limits: NativeLimits = { timeoutMs: 1 };\n'''`);
    await fails(`'''ts\n${types}const limits: NativeLimits = { timeoutMs: "1" };\n'''`, "TS2322");
    await fails("'''ts\nthrow new Error('thrown');\n'''", "thrown");
  });

  it("a command fails, or prints something else", async () => {
    await runs("'''console\n$ native-runner run -- echo hello\nhello\n$ true\n'''");
    await fails("'''console\n$ native-runner run -- echo hello\nhallo\n'''", "what came is\nhello");
    await fails("'''console\n$ native-runner run -- false\n'''", "exit code 1");
    await runs("'''sh\ntrue\ntrue\n'''");
    await fails("'''sh\nfalse\ntrue\n'''", "exit code 1");
  });

  it("a configuration is refused, or is not the defaults that it says it is", async () => {
    await runs("'''json\n{ \"network\": \"allow\" }\n'''");
    await fails("'''json\n{ \"netwrk\": \"allow\" }\n'''", "netwrk");
    await fails("<!-- config: defaults -->\n'''json\n{ \"network\": \"allow\" }\n'''", "defaults");
  });

  it("no runner knows its language, and no mark says why", async () => {
    await fails("'''ruby\nputs 1\n'''", 'no runner for "ruby"');
    await fails("'''\na drawing\n'''", "no runner");
    await runs("<!-- not run: it is a drawing -->\n'''\na drawing\n'''");
  });

  it("it counts on what an example before it left", async () => {
    const write = "'''sh\necho 1 > file\n'''\n\ntext\n\n";
    await runs(`${write}<!-- continues -->\n'''sh\ncat file\n'''`);
    await fails(`${write}'''sh\ncat file\n'''`, "No such file");
  });
});

describe("a page fails when", () => {
  it("a comment above a block is no mark", async () => {
    await fails("<!-- notrun: it is a drawing -->\n'''\n1\n'''", "expected one of not run");
  });

  it("a block has no end", async () => {
    await fails("'''js\n1", "has no end");
  });

  it("there is nothing to continue", async () => {
    await fails("<!-- continues -->\n'''sh\ntrue\n'''", "nothing to continue");
  });
});

describe("shown output", () => {
  it.each([
    ["a b", "a b\n", true],
    ["a b", "a c\n", false],
    ["a b", "a b\nc\n", false],
    ["a …", "a long tail\n", true],
    ["a … z", "a long tail\n", false],
    ["a\n...\nd", "a\nb\nc\nd\n", true],
    ["a\n...\nd", "a\nb\nc\n", false],
    ["(1+1)", "(1+1)\n", true],
    ["(1+1)", "(2+1)\n", false],
  ])("%j against %j: %j", (shown, actual, isSame) => {
    expect(matchesShown(shown, actual, [])).toBe(isSame);
  });

  it("lets numbers and paths differ only where that is said", () => {
    expect(matchesShown("in 1.5 ms", "in 23 ms", ["numbers"])).toBe(true);
    expect(matchesShown("in 1.5 ms", "in 23 ms", [])).toBe(false);
    expect(matchesShown("in 1.5 ms", "in some ms", ["numbers"])).toBe(false);
    expect(matchesShown("at /a/b-1 now", "at /c now", ["numbers", "paths"])).toBe(true);
    expect(matchesShown("at /a/b-1 now", "at /c now", ["numbers"])).toBe(false);
    expect(() => matchesShown("1", "1", ["words"])).toThrow("got words");
  });
});
