/** Transactions of the command line at a terminal: the question, colours and the pager. */

import { beforeEach, expect, test } from "vitest";

import { kCli, whyNoCli } from "../../support/built-cli.js";
import { LocalNativeRunner } from "../../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { kEdit, Scene } from "./transaction-workspace.js";

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

describeUnless(whyNoCli ?? whyNoBubblewrap, "at a terminal", () => {
  /** Answers each question in turn; all that was shown, and the exit code. */
  async function atTerminal(answers: readonly string[], words: readonly string[], env = {}) {
    const host = new LocalNativeRunner({ shadowDir: scene.workspace, envPolicy: "inherit" });
    const live = await host.spawn({
      argv: [...kCli, ...words],
      pty: { cols: 100, rows: 30 },
      env: { XDG_STATE_HOME: scene.state, TERM: "xterm", NO_COLOR: "", PAGER: "cat", ...env },
    });
    const kQuestion = "[c/d/k/s] ";
    let shown = "";
    let answered = 0;
    live.stdout.on("data", (chunk: Uint8Array) => {
      shown += Buffer.from(chunk).toString();
      const asked = shown.split(kQuestion).length - 1;
      if (asked > answered && answered < answers.length) {
        live.stdin.write(answers[answered] ?? "");
        answered += 1;
      }
    });
    const { exitCode } = await live.result;
    return { shown, exitCode, answered };
  }
  const words = ["run", "--transaction", "--", "sh", "-c", kEdit];

  test.each([
    ["c\r", "two\n", 1],
    ["commit\r", "two\n", 1],
    ["d\r", "one\n", 0],
    ["k\r", "one\n", 1],
    ["\u0003", "one\n", 1],
    ["\u0004", "one\n", 1],
  ])("%j is an answer", async (answer, contents, kept) => {
    const { exitCode } = await atTerminal([answer], words);
    expect(exitCode).toBe(0);
    expect(scene.read("a.txt")).toBe(contents);
    expect(scene.ids()).toHaveLength(kept);
  });

  test("what is no answer is asked again, and the diff is shown as often as asked", async () => {
    const { shown, answered } = await atTerminal(["\r", "what?\r", "s\r", "diff\r", "d\r"], words);
    expect(answered).toBe(5);
    expect(shown.split("+two").length - 1).toBe(2);
    expect(scene.ids()).toEqual([]);
  });

  test("a commit that is refused is told of, and asked about again", async () => {
    const script = "echo x > .envrc; echo two > a.txt";
    const { shown, answered } = await atTerminal(["c\r", "d\r"], [...words.slice(0, -1), script]);
    expect(answered).toBe(2);
    expect(shown).toContain("  .envrc\r\n");
    expect(scene.read("a.txt")).toBe("one\n");
  });

  test("nobody is asked with --commit, --discard or --json", async () => {
    for (const option of ["--commit", "--discard", "--json"]) {
      const { answered } = await atTerminal(["c\r"], ["run", option, ...words.slice(1)]);
      expect(answered, option).toBe(0);
    }
  });

  test("there are colours, unless NO_COLOR says otherwise, and no escapes of a command's", async () => {
    const evil = "printf '\\033[2Jgone\\n' > \"$(printf 'n\\033[2Jx')\"";
    const evils = [...words.slice(0, -1), evil];
    const painted = await atTerminal(["s\r", "d\r"], evils);
    expect(painted.shown).toContain("\u001b[32mA\u001b[39m n^[[2Jx");
    expect(painted.shown).toContain("\u001b[32m+^[[2Jgone\u001b[39m");
    expect(painted.shown).not.toContain("\u001b[2J");
    const plain = await atTerminal(["d\r"], evils, { NO_COLOR: "1" });
    expect(plain.shown).toContain("  A n^[[2Jx");
    expect(plain.shown).not.toContain("\u001b[32m");
  });

  test("a diff goes through $PAGER, and is written where that can't be started", async () => {
    const id = scene.waiting();
    const paged = await atTerminal([], ["tx", "diff", id], { PAGER: "sed s/^/PAGED:/" });
    expect(paged.shown).toContain("PAGED:");
    const none = await atTerminal([], ["tx", "diff", id], { PAGER: "no-such-pager" });
    expect(none.shown).toContain("+two");
  });
});
