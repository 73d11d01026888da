// As root too: only root can have a workspace that belongs to somebody else, and only a user sees root's files as nobody's.
/** Files whose owner is another one inside: a workspace of another user, and settings of ssh that root owns. */

import { execFileSync } from "node:child_process";
import { chownSync, existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { BubblewrapNativeRunner, type BubblewrapNativeRunnerOptions } from "../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

const kSomebody = 61_234;
const kDropIns = "/etc/ssh/ssh_config.d";

function foreignProject(): string {
  const project = tempDirectory();
  execFileSync("git", ["init", "-q", project]);
  for (const path of ["", "/.git"]) chownSync(project + path, kSomebody, kSomebody);
  return project;
}

const status = async (options: BubblewrapNativeRunnerOptions) => {
  const runner = new BubblewrapNativeRunner(options);
  try {
    return await run(runner, "git -C /workspace status --short && echo fine");
  } finally {
    await runner.close();
  }
};

describeSandboxed("files of another owner", () => {
  testUnless(
    isRoot ? undefined : "only root can give a workspace away",
    "git works in a workspace of another user",
    async () => {
      const shadowDir = foreignProject();
      expect((await status({ shadowDir })).out).toBe("fine");
      // Without a home of ours nothing says that it may.
      expect((await status({ shadowDir, home: "none" })).err).toMatch(/dubious ownership/);
    },
  );

  test("a workspace of one's own needs no exception", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    expect((await run(runner, "git config --global --get-all safe.directory")).out).toBe("");
    await runner.close();
  });

  testUnless(
    existsSync(kDropIns) ? undefined : `this host has no ${kDropIns}`,
    "settings of ssh that would be nobody's are not there",
    async () => {
      const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
      const seen = await run(
        runner,
        `ls -A ${kDropIns}; touch ${kDropIns}/x 2>/dev/null || echo no`,
      );
      const names = isRoot ? readdirSync(kDropIns) : [];
      expect(seen.out.split("\n").sort()).toEqual([...names, "no"].sort());
      await runner.close();
    },
  );
});
