/** The conversation: its commands, several requests, and what is left when it ends. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { describeSandboxed } from "../support/requirements.js";
import { kBwrap, runDemo, startDemo, type Turn } from "./support/run-demo.js";
import { makeProject, readTree } from "./support/tree.js";

const kTree = { a: "one\ntwo\n", b: "1\n", leak: "-> /etc/passwd" };

const kTurns: Turn[] = [
  { calls: [{ script: "sed -i s/two/2/ a; rm b; printf 'x\\0' > binary; ln -s /etc evil" }] },
  { text: "First." },
  { calls: [{ script: "cat a; echo more > new" }] },
  { text: "Second." },
];

const lines = (...words: string[]) => words.map((line) => `${line}\n`).join("");

test("several requests are one talk; /diff and /status show, /commit writes", async () => {
  const project = makeProject(kTree);
  const input = lines("change it", "/diff", "and on", "/commit", "/status", "/commit", "/exit");
  const { code, out, err, requests, answers, left } = await runDemo({
    project,
    turns: kTurns,
    input,
  });
  expect({ code, left }).toEqual({ code: 0, left: [] });
  expect(err).toMatch(
    new RegExp(
      `^demo-node: working on ${project} in transaction [0-9a-f]{12}: it stays as it is$`,
      "m",
    ),
  );
  expect(requests[2]?.messages.map(({ role }) => role)).toEqual(
    "system user assistant tool assistant user".split(" "),
  );
  expect(answers[1]).toBe("one\n2\n[exit code 0]");

  const evil = "never committed:\n  evil: a link that leaves the project (/etc)\n";
  const first = "  M a  +1 -1\n  D b  +0 -1\n  A binary  nothing -> 2 bytes\n";
  const all = `${first}  A new  +1 -0\n`;
  const pending = "changes, not in the project yet (/commit writes them):\n";
  const diff = `diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,2 +1,2 @@
 one
-two
+2
diff --git a/b b/b
deleted file mode 100644
--- a/b
+++ /dev/null
@@ -1,1 +0,0 @@
-1
diff --git a/binary b/binary
new file mode 100644
index 0000000000000000000000000000000000000000..7a002a81f265a581625acf3db7b14ceb6c40b808
GIT binary patch
literal 2
McmV+d0R8\`X008m;c>n+a

literal 0
KcmV+b0RR6000031

`;
  const [head = "", tail = ""] = out.split("project:     ");
  expect(head).toBe(
    `First.\n${pending}${first}${evil}${diff}${evil}Second.\n${pending}${all}${evil}committed:\n${all}${evil}`,
  );
  expect(tail).toMatch(/^.*\ntransaction: [0-9a-f]{12} \(\w+\)\nsandbox: {5}none\n/);
  expect(tail.endsWith(`no changes\n${evil}nothing to commit\n${evil}`)).toBe(true);
  expect(readTree(project)).toEqual({
    a: "one\n2\n",
    binary: "x\0",
    "new": "more\n",
    leak: "-> /etc/passwd",
  });
});

test("a conflict is told, and keeps nothing else from being committed by name", async () => {
  const project = makeProject(kTree);
  const edit = () => writeFileSync(join(project, "a"), "edited\n");
  const turns: Turn[] = [
    { calls: [{ script: "echo new > a; echo new > c" }] },
    { text: "1", meanwhile: edit },
  ];
  const input = lines("x", "/commit", "/commit c", "/exit", "/exit");
  const { code, out } = await runDemo({ project, turns, input });
  expect(code).toBe(0);
  const conflict =
    "conflict: nothing was written to the project\n  a: was changed in the project meanwhile\n";
  expect(out).toContain(conflict);
  expect(out.slice(out.indexOf(conflict))).toMatch(
    /committed:\n {2}A c {2}\+1 -0\nnot committed: 1 change;/,
  );
  expect(readTree(project)).toEqual({ ...kTree, a: "edited\n", c: "new\n" });
});

test("what the host runs by itself is committed only by name, and /undo takes it back", async () => {
  const project = makeProject(kTree);
  const turns: Turn[] = [{ calls: [{ script: "echo 'exit 0' > .envrc" }] }, { text: "1" }];
  const input = lines(
    "x",
    "/commit",
    "/commit --allow-protected .envrc",
    "/undo",
    "/undo",
    "/exit",
  );
  const { code, out, err } = await runDemo({ project, turns, input: `${input}/exit\n` });
  expect(code).toBe(0);
  expect(out).toContain(
    "protected: nothing was written to the project\n  .envrc: is run by itself",
  );
  expect(out).toMatch(/committed:\n {2}A \.envrc {2}\+1 -0\nundone: /);
  expect(err).toContain("there is no commit to be taken back");
  expect(out).toMatch(/thrown away: 1 change\n$/);
  expect(readTree(project)).toEqual(kTree);
});

test("/exit asks when something would be lost; the end of the input does not", async () => {
  const project = makeProject(kTree);
  const turns = kTurns.slice(0, 2);
  const twice = await runDemo({ project, turns, input: lines("x", "/exit", "/exit", "/status") });
  expect(twice).toMatchObject({ code: 0, left: [] });
  expect(twice.out).toMatch(
    /not committed: 3 changes; \/exit again throws that away\n.*thrown away: 3 changes\n$/s,
  );
  expect(twice.out).not.toContain("sandbox:");
  const stays = await runDemo({ project, turns, input: lines("x", "/exit", "/status") });
  expect(stays.out).toMatch(/sandbox: .*not committed, thrown away: 3 changes\n$/s);
  expect(readTree(project)).toEqual(kTree);
});

test("a request that fails is told, and the next one goes well", async () => {
  const turns: Turn[] = [{ status: 400, text: "too busy" }, { text: "Here I am." }];
  const input = lines("", "one", "/nosuch", "two", "/exit");
  const { code, out, err } = await runDemo({ project: makeProject(kTree), turns, input });
  expect(code).toBe(0);
  expect(err).toMatch(/demo-node: the model's endpoint: 400 too busy\n$/);
  expect(out).toMatch(
    /\/commit {2}write the changes into the project; .*Here I am\.\nno changes\n/s,
  );
});

test("a signal ends it at the prompt, too, and leaves nothing behind", async () => {
  const demo = await startDemo({ project: makeProject(kTree), turns: [], input: null });
  await eventually("it has begun", () => demo.said().includes("in transaction"));
  demo.child.kill("SIGTERM");
  expect(await demo.ended).toMatchObject({ code: 130, out: "", left: [] });
});

describeSandboxed("with the sandbox", () => {
  test("/status tells its name, and the layers of the last command", async () => {
    const turns: Turn[] = [{ calls: [{ script: "true" }] }, { text: "done" }];
    const input = lines("x", "/status");
    const { out } = await runDemo({ project: makeProject(kTree), turns, input, env: kBwrap });
    expect(out).toMatch(/^sandbox: {5}bubblewrap\nlayers of the last command: .*seccomp.*$/m);
  });
});
