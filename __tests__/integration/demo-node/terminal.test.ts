/** At a real terminal: the question, its answers, and a terminal that goes away. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { Screen } from "../support/live-processes.js";
import { LocalNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kBwrap, type Turn } from "./support/run-demo.js";
import { startScriptedModel } from "./support/scripted-model.mjs";
import { makeProject } from "./support/tree.js";

const kMain = join(import.meta.dirname, "../../../examples/demo-node/main.js");
const kAsked = "[d]eny? ";

/** The demo at a terminal, with a project that wants a file from outside. */
async function atTerminal() {
  const outside = tempDirectory("prices", "/var/tmp");
  mkdirSync(join(outside, "shop"));
  const path = join(outside, "shop/prices.csv");
  writeFileSync(path, "apple,2\n");
  const script = `cat ${path}`;
  const turns: Turn[] = [
    { calls: [{ script }] },
    { calls: [{ name: "RequestAccess", arguments: { denial: "D1" } }] },
    { calls: [{ script }] },
    { text: "An apple costs 2." },
  ];
  const model = await startScriptedModel(turns);
  const demo = await new LocalNativeRunner({ shadowDir: makeProject({ file: "" }) }).spawn({
    argv: [process.execPath, kMain, "--project", "."],
    env: {
      ...kBwrap,
      NO_COLOR: "1",
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "k",
      XDG_STATE_HOME: tempDirectory("state"),
    },
    pty: { cols: 200, rows: 50 },
  });
  const screen = new Screen(demo.stdout);
  await screen.until("> ");
  demo.stdin.write("what does an apple cost?\r");
  await screen.until(kAsked);
  return { demo, screen, model, path };
}

describeSandboxed("at a terminal", () => {
  test("yes is asked for, and the command runs again", async () => {
    const { demo, screen, model } = await atTerminal();
    demo.stdin.write("s\r");
    await screen.until("An apple costs 2.");
    demo.stdin.write("/exit\r");
    expect((await demo.result).exitCode).toBe(0);
    expect(model.answers()[2]).toBe("apple,2\n[exit code 0]");
    await model.close();
  });

  test.each([
    ["return", "\r"],
    ["the end of the input", "\u0004"],
    ["an interrupt", "\u0003"],
  ])("%s is no", async (_, keys) => {
    const { demo, screen, model } = await atTerminal();
    demo.stdin.write(keys);
    if (keys === "\r") {
      await screen.until("An apple costs 2.");
      expect(model.answers()[1]).toBe("[denied: the user said no; go on without it]");
    }
    demo.stdin.write("/exit\r");
    demo.stdin.end();
    await demo.result;
    for (const answer of model.answers()) expect(answer).not.toContain("apple,2");
    await model.close();
  });
});
