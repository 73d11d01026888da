/** /try: several agents at one task at once, each on a branch; the best is adopted and committed. */

import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { describeSandboxed } from "../support/requirements.js";
import { kBwrap, type Request, runDemo, startDemo, type Turn } from "./support/run-demo.js";
import { makeProject, readTree } from "./support/tree.js";

const kTest = `import assert from "node:assert";
import { test } from "node:test";
import { sum } from "./sum.js";
test("adds", () => assert.equal(sum(2, 3), 5));
test("adds nothing", () => assert.equal(sum(), 0));
`;

const kTree = {
  "package.json": `${JSON.stringify({ type: "module", scripts: { test: "node --test; code=$?; echo ran > test-output; exit $code" } })}\n`,
  "sum.js": "export const sum = (a, b) => a - b;\n",
  "sum.test.js": kTest,
};

/** Four ways: one misses a case, two are right, one is no JavaScript. */
const kFixes = [
  "sed -i 's/a - b/a + b/' sum.js; echo tried > notes-1",
  `cat > add.js <<'END'
export function add(...terms) {
  let total = 0;
  for (const term of terms) total += term;
  return total;
}
END
echo 'export { add as sum } from "./add.js";' > sum.js; echo tried > notes-2`,
  "echo 'export const sum = (a = 0, b = 0) => a + b;' > sum.js",
  "echo 'export const sum = (a, b => a + b;' > sum.js; echo tried > notes-4",
];

/** Which agent asks, and how many commands it has had answered. */
function askerOf({ messages }: Request) {
  const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const number = Number(/attempt (\d)/.exec(asked)?.[1]);
  const from = messages.findLastIndex(({ role }) => role === "user");
  return { number, answered: messages.slice(from).filter(({ role }) => role === "tool").length };
}

/** None is answered before all four have asked: they work at once. */
function fixesAtOnce(): (request: Request) => Promise<Turn> {
  const asking = new Set<number>();
  let begin: () => void = () => {};
  const haveAsked = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return async (request) => {
    const { number, answered } = askerOf(request);
    if (Number.isNaN(number)) return { text: "I know what was done." };
    asking.add(number);
    if (asking.size === kFixes.length) begin();
    await haveAsked;
    if (answered === 0) return { calls: [{ script: kFixes[number - 1] ?? "" }], tokens: 1000 };
    return { text: `Fixed in way ${number}.`, tokens: 500 * number };
  };
}

const lines = (...words: string[]) => words.map((line) => `${line}\n`).join("");

describeSandboxed("/try", () => {
  test("four fixes at once: the tests run in each, the best is adopted and committed", async () => {
    const project = makeProject(kTree);
    const input = lines(
      "/try 4 the tests fail, fix sum.js",
      "/commit",
      "and now?",
      "/diff 3",
      "/adopt 9",
      "/adopt 3",
      "what was done?",
      "/commit",
      "/exit",
    );
    const demo = await runDemo({ project, turns: fixesAtOnce(), input, env: kBwrap });
    const { code, out, err, left, requests } = demo;
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(err).toContain("4 agents on 4 branches; tests: npm test");
    const row = (number: number) => new RegExp(`^${number} .*$`, "m").exec(out)?.[0].split(/ {2,}/);
    expect(out).toMatch(/^branch {2}tests {2}files {2}lines +time +tokens$/m);
    expect(row(1)).toEqual(["1", "fail", "2", "+2 -1", expect.stringMatching(/ s$/), "1,500"]);
    expect(row(2)).toEqual(["2", "pass", "3", "+7 -1", expect.stringMatching(/ s$/), "2,000"]);
    expect(row(3)).toEqual(["3", "pass", "1", "+1 -1", expect.stringMatching(/ s$/), "2,500"]);
    expect(row(4)).toEqual(["4", "fail", "2", "+2 -1", expect.stringMatching(/ s$/), "3,000"]);
    expect(out).toContain("  1: tests: exit code 1\n");
    for (const number of [1, 2, 3, 4]) {
      expect(out).toContain(`[${number}] Fixed in way ${number}.\n`);
      expect(err).toMatch(new RegExp(`^\\[${number}\\] {3}= exit code 0`, "m"));
    }
    // While the branches wait, nothing else is done.
    expect(err.match(/the branches wait: \/adopt N, \/review or \/drop first/g)).toHaveLength(2);
    expect(err).toContain("there is no branch 9 (there are: 1 to 4)");
    expect(out).toContain("+export const sum = (a = 0, b = 0) => a + b;\n");
    // The talk goes on from the branch's own.
    const talk = requests.at(-1)?.messages.map(({ content }) => content);
    expect(talk).toContain("Fixed in way 3.");
    expect(talk).not.toContain("Fixed in way 2.");
    expect(out).toContain("adopted branch 3\n");
    expect(out).toMatch(/committed:\n {2}M sum\.js {2}\+1 -1\n$/);
    expect(readTree(project)).toEqual({
      ...kTree,
      "sum.js": "export const sum = (a = 0, b = 0) => a + b;\n",
    });
  });

  test("an agent that fails is told in its row; /drop leaves all as it was", async () => {
    const project = makeProject({ file: "1\n" });
    const turns = (request: Request): Turn => {
      const { number, answered } = askerOf(request);
      if (number === 1) return { status: 400, text: "too busy" };
      return answered === 0 ? { calls: [{ script: "cat file >> file2" }] } : { text: "Done." };
    };
    const input = lines("/try 2 go", "/exit", "/drop", "/status", "/try 1 x", "/try 2", "/exit");
    const options = { project, turns, input, env: kBwrap, args: ["--test", "grep -qx 1 file2"] };
    const { code, out, err, left } = await runDemo(options);
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(out).toMatch(/^1 {7}not done {2}0 {6}\+0 -0 {2}\d+\.\d s {2}\?$/m);
    expect(out).toContain("  1: the model's endpoint: 400 too busy\n");
    expect(out).toMatch(/^2 {7}pass {6}1 {6}\+1 -0 {2}\d+\.\d s {2}\?$/m);
    expect(out).toContain("not committed: 1 change; /exit again throws that away\n");
    expect(out).toMatch(/no changes\n$/);
    expect(err.match(/Expected \/try N TASK with N from 2 to 16/g)).toHaveLength(2);
    expect(readTree(project)).toEqual({ file: "1\n" });
  });

  test("an interrupt ends all agents, and no branch is left", async () => {
    const project = makeProject({ file: "1\n" });
    const turns = (request: Request): Turn => {
      const { number } = askerOf(request);
      return number === 1 ? { end: "hang", text: "Well" } : { calls: [{ script: "sleep 1000" }] };
    };
    const demo = await startDemo({ project, turns, input: null, env: kBwrap });
    demo.child.stdin.write("/try 3 go\n");
    const works = (number: number) => demo.said().includes(`[${number}] $ sleep`);
    await eventually("they work", () => works(2) && works(3));
    demo.child.kill("SIGINT");
    expect(await demo.ended).toMatchObject({ code: 130, left: [] });
  });
});

test("without a sandbox branches are apart all the same", async () => {
  const project = makeProject({ file: "1\n" });
  const turns = (request: Request): Turn => {
    const { number, answered } = askerOf(request);
    return answered === 0 ? { calls: [{ script: `echo ${number} > file` }] } : { text: "Done." };
  };
  const input = lines("/try 2 go", "/adopt 2", "/commit", "/exit");
  const { code, left } = await runDemo({ project, turns, input, args: ["--test", "true"] });
  expect({ code, left }).toEqual({ code: 0, left: [] });
  expect(readTree(project)).toEqual({ file: "2\n" });
});
