/** `run --transaction` as users start it: dist/cli/main.js, as `npm run build` leaves it. */

import { spawn } from "node:child_process";
import { beforeEach, expect, test } from "vitest";

import { treeOf } from "../../../support/tree-of.js";
import { eventually } from "../../../support/waits.js";
import { kCli, whyNoCli } from "../../support/built-cli.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { kEdit, kSummary, Scene } from "./transaction-workspace.js";

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

describeUnless(whyNoCli ?? whyNoBubblewrap, "run --transaction", () => {
  test("shows what was changed, keeps it away from a terminal, and says where", () => {
    const before = treeOf(scene.workspace);
    const { status, stdout, stderr } = scene.run([], `echo out; ${kEdit}; exit 7`);
    const [id] = scene.ids();
    expect({ status, stdout }).toEqual({ status: 7, stdout: "out\n" });
    expect(stderr).toBe(
      `${kSummary}native-runner: the changes wait in transaction ${id}: \`native-runner tx show|diff|commit|discard ${id}\`\n`,
    );
    expect(treeOf(scene.workspace)).toEqual(before);
  });

  test("leaves nothing of a command that changes nothing, or can't be begun", () => {
    expect(scene.run([], "cat a.txt")).toEqual({
      status: 0,
      stdout: "one\n",
      stderr: "native-runner: it has changed nothing\n",
    });
    expect(scene.cli("run", "--transaction", "--", "no-such-program").status).toBe(127);
    expect(scene.cli("run", "--transaction", "-C", "missing", "--", "true").status).toBe(125);
    expect(scene.cli("run", "--transaction", "-C", "..", "--", "true").status).toBe(2);
    expect(scene.ids()).toEqual([]);
  });

  test("--commit commits what a command has done that exits with 0", () => {
    const { status, stderr } = scene.run(["--commit"], kEdit);
    const [id] = scene.ids();
    expect(status).toBe(0);
    expect(stderr).toBe(
      `${kSummary}native-runner: committed 2 changes; \`native-runner tx undo ${id}\` takes it back\n`,
    );
    expect([scene.read("a.txt"), scene.read("b.txt")]).toEqual(["two\n", "new\n"]);
  });

  test.each([
    ["exits with another code", `${kEdit}; exit 3`, [], 3],
    ["is ended by a signal", `${kEdit}; kill -TERM $$`, [], 143],
    ["takes too long", `${kEdit}; sleep 100`, ["--timeout", "1s"], 124],
  ])("--commit keeps what a command has done that %s", (_, script, options, code) => {
    const { status, stderr } = scene.run(["--commit", ...options], script);
    expect(status).toBe(code);
    expect(stderr).toContain("nothing was committed, since the command did not exit with 0");
    expect(scene.read("a.txt")).toBe("one\n");
    expect(scene.ids()).toHaveLength(1);
  });

  test("--commit that is refused keeps all, names the paths, and has a code of its own", () => {
    const protecteds = scene.run(["--commit"], `${kEdit}; echo x > .envrc`);
    expect(protecteds.status).toBe(122);
    expect(protecteds.stderr).toContain("what would be changed:\n  .envrc\nfix: ");
    expect(scene.read("a.txt")).toBe("one\n");
    const allowed = scene.run(["--commit", "--allow-protected", ".envrc"], "echo x > .envrc");
    expect(allowed.status).toBe(0);
    expect(scene.read(".envrc")).toBe("x\n");
  });

  test("--discard leaves nothing, and exits as the command does", () => {
    const { status, stderr } = scene.run(["--discard"], `${kEdit}; exit 5`);
    expect(status).toBe(5);
    expect(stderr).toBe(`${kSummary}native-runner: discarded\n`);
    expect(scene.read("a.txt")).toBe("one\n");
    expect(scene.ids()).toEqual([]);
  });

  test("--json has what became of it in the one object", () => {
    const kept = JSON.parse(scene.run(["--json"], kEdit).stdout);
    expect(kept).toMatchObject({
      exitCode: 0,
      outcome: { kind: "exited" },
      transaction: { id: scene.ids()[0], state: "kept" },
    });
    expect(kept.transaction.changes.map(({ path }: { path: string }) => path)).toEqual([
      "a.txt",
      "b.txt",
    ]);
    const discarded = scene.run(["--json", "--discard"], kEdit);
    expect(JSON.parse(discarded.stdout).transaction.state).toBe("discarded");
    expect(discarded.stderr).toBe("");
    const refused = scene.run(["--json", "--commit"], "echo x > .envrc");
    expect(refused.status).toBe(122);
    expect(JSON.parse(refused.stdout).transaction).toMatchObject({
      state: "kept",
      error: { code: "ERR_TRANSACTION_PROTECTED", paths: [".envrc"] },
    });
    expect(JSON.parse(scene.run(["--json", "--commit"], kEdit).stdout).transaction).toMatchObject({
      state: "committed",
      left: [],
    });
    expect(JSON.parse(scene.cli("run", "--json", "--", "true").stdout)).not.toHaveProperty(
      "transaction",
    );
  });

  test("that is interrupted keeps what was changed", async () => {
    const [program = "", ...args] = [...kCli, "run", "--transaction", "--", "sh", "-c"];
    const child = spawn(program, [...args, `${kEdit}; echo up; sleep 1000`], {
      cwd: scene.workspace,
      env: scene.environment,
    });
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    child.stderr.on("data", (chunk) => {
      said += chunk;
    });
    child.stdin.end();
    const ended = new Promise((resolve) => child.on("close", resolve));
    await eventually("it runs", () => said.includes("up"));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(said).toContain(`the changes wait in transaction ${scene.ids()[0]}`);
    expect(scene.read("a.txt")).toBe("one\n");
  });

  test("needs Bubblewrap, and says so", () => {
    const { status, stderr } = scene.cli(
      "run",
      "--transaction",
      "--runtime",
      "native",
      "--",
      "true",
    );
    expect(status).toBe(2);
    expect(stderr).toContain("--transaction means nothing to --runtime native\nfix: ");
  });

  test("is what explain tells of too, and leaves nothing there", () => {
    const { status, stdout } = scene.cli("explain", "--transaction", "--", "make");
    expect(status).toBe(0);
    // A long path takes more than a line.
    expect(stdout.replace(/\s+/g, " ")).toMatch(/ Writes .*\(at \/workspace, in a transaction\)/);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("transaction:overlay");
    expect(scene.cli("explain", "--", "make").stdout).not.toContain("transaction");
    expect(scene.ids()).toEqual([]);
  });
});
