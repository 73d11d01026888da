// As root too: cloned sandboxes keep root's ids and capabilities apart.
/** What changes on the host is seen by the next run: a template that would be made otherwise now is not used. */

import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../support/waits.js";
import { bindsWith } from "../promises/probed-host.js";
import { jsonOfHost } from "../support/host-program.js";
import { kPlace, tree } from "../support/mounts.js";
import { kNodeInside } from "../support/node-arguments.js";
import type { BubblewrapNativeRunner, NativeMount } from "../support/package.js";
import { childrenOf } from "../support/processes.js";
import {
  describeSandboxed,
  describeUnless,
  isRoot,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { cloning, startOf, templates, untilCloned } from "./cloning-runners.js";

afterEach(() => expect(childrenOf(process.pid)).toEqual([]));

/** After `change` the next run is cold, says why, and prints `next`; a later one is a clone, and does too. */
async function expectNew(
  runner: BubblewrapNativeRunner,
  script: string,
  { before, change, next }: { before: string; change: () => void; next: string },
): Promise<void> {
  const first = await run(runner, script);
  expect([startOf(first.result), first.out]).toEqual(["cloned", before]);
  change();
  const cold = await run(runner, script);
  expect([startOf(cold.result), cold.out]).toEqual(["cold", next]);
  expect(cold.result.audits[0]?.coldReason).toEqual(expect.any(String));
  await untilCloned(runner);
  const again = await run(runner, script);
  expect([startOf(again.result), again.out]).toEqual(["cloned", next]);
  await eventually("the template of before is gone", () => templates().length === 1);
  await runner.close();
}

describeSandboxed("a template is not used any more", () => {
  test("for another directory at the workspace's path", async () => {
    const parent = tempDirectory();
    const shadowDir = join(parent, "work");
    const make = (text: string) => {
      mkdirSync(shadowDir);
      writeFileSync(join(shadowDir, "file"), text);
    };
    make("old");
    const change = () => {
      renameSync(shadowDir, join(parent, "old"));
      make("new");
    };
    const runner = await cloning({ shadowDir });
    await expectNew(runner, "cat file", { before: "old", change, next: "new" });
  });

  test("for a workspace that is a link to another directory now", async () => {
    const [first, second] = [tree({ file: "old" }), tree({ file: "new" })];
    const shadowDir = join(tempDirectory(), "link");
    symlinkSync(first, shadowDir);
    const change = () => {
      rmSync(shadowDir);
      symlinkSync(second, shadowDir);
    };
    const runner = await cloning({ shadowDir });
    await expectNew(runner, "cat file", { before: "old", change, next: "new" });
  });

  test("for another directory at a bind's path", async () => {
    const parent = tempDirectory("binds", kPlace);
    const tools = join(parent, "tools");
    mkdirSync(tools);
    const change = () => {
      renameSync(tools, join(parent, "old"));
      mkdirSync(tools);
      writeFileSync(join(tools, "new"), "");
    };
    const runner = await cloning({ shadowDir: tempDirectory(), roBinds: bindsWith(tools) });
    await expectNew(runner, `ls ${tools}`, { before: "", change, next: "new" });
  });

  test.each(["directory", "file"])("for another %s at a mount's path", async (kind) => {
    const root = tree({ "dir/file": "old" });
    const hostPath = join(root, kind === "file" ? "dir/file" : "dir");
    const mounts: NativeMount[] = [{ hostPath, guestPath: "/data", mode: "ro" }];
    const change = () => {
      renameSync(hostPath, join(root, "old"));
      if (kind === "directory") mkdirSync(hostPath);
      writeFileSync(join(root, "dir/file"), "new");
    };
    const runner = await cloning({ shadowDir: tempDirectory("work", kPlace), mounts });
    const path = kind === "file" ? "/data" : "/data/file";
    await expectNew(runner, `cat ${path}`, { before: "old", change, next: "new" });
  });

  test("when the host's umask has changed", async () => {
    const before = process.umask(0o022);
    try {
      const runner = await cloning({ shadowDir: tempDirectory() });
      const change = () => void process.umask(0o077);
      await expectNew(runner, "umask", { before: "0022", change, next: "0077" });
    } finally {
      process.umask(before);
    }
  });

  test("but is for what is new in a directory", async () => {
    const shadowDir = tempDirectory();
    const runner = await cloning({ shadowDir });
    writeFileSync(join(shadowDir, "file"), "made since");
    const seen = await run(runner, "cat file");
    expect([startOf(seen.result), seen.out]).toEqual(["cloned", "made since"]);
    await runner.close();
  });

  test("a workspace that is gone fails the set-up, as ever", async () => {
    const shadowDir = tempDirectory();
    const runner = await cloning({ shadowDir });
    renameSync(shadowDir, `${shadowDir}.gone`);
    const seen = await run(runner, "true");
    expect(seen.kind).toBe("setup-failed");
    renameSync(`${shadowDir}.gone`, shadowDir);
    expect((await run(runner, "echo back")).out).toBe("back");
    await runner.close();
  });
});

/** A copy of /etc in a mount namespace of its own, where root's secrets may be replaced. */
describeUnless(
  whyNoBubblewrap ?? (isRoot ? undefined : "an ordinary user can't read them anyway"),
  "root's secrets",
  () => {
    test.each(["replaced", "made", "removed"])("can't be read when they are %s", async (how) => {
      const program = fileURLToPath(new URL("../hosts/clones/secrets.mjs", import.meta.url));
      const words = ["unshare", "-m", ...kNodeInside, program, how, tempDirectory()];
      const ends = await jsonOfHost<{ out: string; start: string }[]>(words);
      expect(ends.map(({ out }) => out)).toEqual(Array(ends.length).fill("control"));
      expect(ends[0]?.start).toBe("cloned");
      expect(ends.at(-1)?.start).toBe("cloned");
    });
  },
);
