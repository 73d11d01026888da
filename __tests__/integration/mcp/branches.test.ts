/** Branches as a model has them: several ways at once, compared, and one taken. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { whyNoCli } from "../support/built-cli.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { connect, kGenerations, textOf } from "./support/client.js";

describeUnless(whyNoCli ?? whyNoBubblewrap, "mcp: branches", () => {
  test.each(kGenerations)("fork, work in each, compare and adopt, %s", async (generation) => {
    const { call, workspace } = await connect(generation);
    writeFileSync(join(workspace, "a.txt"), "one\n");
    await call("run", { command: "echo common > common" });
    await call("fork", { name: "quick", note: "the quick way" });
    await call("fork", { name: "whole" });
    const ran = await call("run", { command: "echo quick > way; cat common", branch: "quick" });
    expect(textOf(ran)).toBe("common\n");
    await call("edit", { path: "a.txt", old: "one", new: "two", branch: "whole" });
    expect(textOf(await call("view", { path: "a.txt", branch: "whole" }))).toBe("two\n");
    expect(textOf(await call("view", { path: "a.txt" }))).toBe("one\n");
    expect(textOf(await call("search", { pattern: "quick", branch: "quick" }))).toBe(
      "way:1:quick\n",
    );
    expect(textOf(await call("changes", { branch: "whole" }))).toContain("a.txt");
    expect(textOf(await call("diff", { branch: "whole", paths: ["a.txt"] }))).toContain("+two");

    const compared = await call("compare");
    expect(compared.structuredContent).toEqual({
      branches: [
        { branch: "quick", note: "the quick way", changes: 1 },
        { branch: "whole", changes: 1 },
      ],
    });
    expect(textOf(compared)).toContain("quick (the quick way): 1 changes\n  added way");

    await call("adopt", { branch: "quick" });
    expect(textOf(await call("run", { command: "cat way" }))).toBe("quick\n");
    await call("adopt", { branch: "whole", how: "merge" });
    expect(textOf(await call("run", { command: "cat way a.txt common" }))).toBe(
      "quick\ntwo\ncommon\n",
    );
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("one\n");
  });

  test("a process of a branch runs in it, and is read and stopped by its id alone", async () => {
    const { call } = await connect("modern");
    await call("fork", { name: "served" });
    const script = "echo up; echo made > made; sleep 1000";
    const started = await call("start", { command: script, branch: "served" });
    const { process } = started.structuredContent as { process: string };
    expect(textOf(await call("read", { process, waitMs: 45_000 }))).toContain("up");
    expect(textOf(await call("run", { command: "cat made", branch: "served" }))).toBe("made\n");
    expect((await call("stop", { process })).isError).toBeFalsy();
    expect(textOf(await call("run", { command: "ls" }))).not.toContain("made");
  });

  test("what is wrong is said", async () => {
    const { call } = await connect("modern");
    await call("fork", { name: "one" });
    const again = await call("fork", { name: "one" });
    expect(again.isError).toBe(true);
    expect(textOf(again)).toContain("there is a branch one already");
    const unknown = await call("run", { command: "true", branch: "oen" });
    expect(unknown.isError).toBe(true);
    expect(textOf(unknown)).toContain('there is no branch "oen"; there are: one');
    expect((await call("fork", { name: "../x" })).isError).toBe(true);
    expect((await call("commit", { branch: "one" })).isError).toBe(true);
    await call("run", { command: "echo ours > new" });
    await call("run", { command: "echo theirs > new", branch: "one" });
    const conflict = await call("adopt", { branch: "one", how: "merge" });
    expect(conflict.isError).toBe(true);
    expect(textOf(conflict)).toContain("new: both have added it");
    expect(textOf(await call("run", { command: "cat new" }))).toBe("ours\n");
  });

  test("branches with changes of their own wait on disk with their trunk", async () => {
    const { call, workspace, state, client } = await connect("modern");
    await call("run", { command: "echo x > x" });
    await call("fork", { name: "same" });
    await call("fork", { name: "other" });
    await call("run", { command: "echo y > y", branch: "other" });
    await client.close();
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    const waiting = async () =>
      (await runner.transactions({ directory: state })).filter((each) => each.state === "closed");
    await expect.poll(async () => (await waiting()).length).toBe(2);
    const [trunk, branch] = await waiting();
    expect(branch?.parent).toBe(trunk?.id);
    await runner.close();
  });
});
