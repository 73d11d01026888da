// As root too: owners, modes and mounts differ for root.
/** "auto" takes an overlay where one can be had, else a copy, and says why. */

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { BubblewrapNativeRunner } from "../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { bwrapWithout } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { openTransaction, project, stateDirectory } from "../support/transactions.js";
import { toldUnderMounts } from "./own-mounts.js";

type Reported = {
  backend: string;
  reason?: string;
  ran: { out: string };
  changes: string[];
  host: string;
  failure: { code: string; message: string };
};

/** Opens, changes a file, commits, and says how that went. */
const kScript = (workspace: string, state: string) => `
  const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)}, prewarm: 0 });
  const directory = ${JSON.stringify(state)};
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const failure_ = await failure(runner.openTransaction({ directory, backend: "overlay" }).then((made) => made.discard()));
  const transaction = await runner.openTransaction({ directory });
  const ran = await sh(transaction, "echo mine > a.txt; cat a.txt b.txt");
  const changes = pathsOf(await transaction.changes());
  await transaction.commit();
  const host = fs.readFileSync(join(${JSON.stringify(workspace)}, "a.txt"), "utf8");
  await transaction.discard();
  tell({ backend: transaction.backend, reason: transaction.backendReason, ran, changes, host, failure: failure_, left: fs.readdirSync(directory) });`;

const kDone = { ran: { out: "mine\ntwo" }, changes: ["modified a.txt"], host: "mine\n", left: [] };

describeSandboxed("auto", () => {
  test("takes an overlay where it can", async () => {
    const { transaction } = await openTransaction(project());
    expect(transaction).toMatchObject({ backend: "overlay", backendReason: undefined });
    await transaction.discard();
    const reported = toldUnderMounts<Reported>("true", kScript(project(), stateDirectory()));
    expect(reported).toMatchObject({ backend: "overlay", ...kDone });
  });

  test("takes a copy where the state directory is on an overlay", () => {
    const top = tempDirectory();
    for (const name of ["lower", "upper", "work", "root"]) mkdirSync(join(top, name));
    const options = `userxattr,lowerdir=${top}/lower,upperdir=${top}/upper,workdir=${top}/work`;
    const mount = `mount -t overlay overlay -o ${options} ${top}/root`;
    const reported = toldUnderMounts<Reported>(mount, kScript(project(), join(top, "root/state")));
    expect(reported).toMatchObject({ backend: "copy", ...kDone });
    expect(reported.reason).toContain("no overlay can be mounted here");
    expect(reported.failure).toMatchObject({
      code: "ERR_SANDBOX_UNAVAILABLE",
      message: reported.reason,
    });
  });

  test("takes a copy where something is mounted in the workspace, and copies that too", () => {
    const workspace = project();
    const state = stateDirectory();
    mkdirSync(join(workspace, "sub"));
    const mount = `mount -t tmpfs none ${workspace}/sub; echo in > ${workspace}/sub/in; echo two > ${workspace}/sub/two`;
    const reported = toldUnderMounts<{
      reason: string;
      seen: { out: string };
      changes: string[];
      refused: { code: string; message: string };
      committed: string[];
      left: string[];
      host: string;
    }>(
      mount,
      `
      const workspace = ${JSON.stringify(workspace)};
      const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      const transaction = await runner.openTransaction({ directory: ${JSON.stringify(state)} });
      const seen = await sh(transaction, "cat sub/in; echo mine > sub/in; echo mine > a.txt; rm sub/two");
      const changes = pathsOf(await transaction.changes());
      const refused = await failure(transaction.commit());
      const host = fs.readFileSync(workspace + "/a.txt", "utf8") + fs.readFileSync(workspace + "/sub/in", "utf8");
      const { committed, left } = await transaction.commit({ paths: ["a.txt"] });
      tell({ reason: transaction.backendReason, seen, changes, refused, host, committed: pathsOf(committed), left: pathsOf(left) });
      await transaction.discard();`,
    );
    expect(reported.reason).toContain(join(workspace, "sub"));
    expect(reported.seen.out).toBe("in");
    expect(reported.changes).toEqual(["modified a.txt", "modified sub/in", "deleted sub/two"]);
    expect(reported.refused).toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    expect(reported.refused.message).toContain("sub is on another file system");
    expect(reported.host, "nothing was done").toBe("one\nin\n");
    expect(reported.committed).toEqual(["modified a.txt"]);
    expect(reported.left).toEqual(["modified sub/in", "deleted sub/two"]);
    expect(readdirSync(state)).toEqual([]);
  });

  test("takes a copy where bwrap could bind something else than the overlay", async () => {
    const bwrapPath = bwrapWithout("--bind-fd");
    const { transaction } = await openTransaction(project(), { bwrapPath });
    expect(transaction.backend).toBe("copy");
    expect(transaction.backendReason).toContain("--bind-fd");
    expect(await run(transaction, "echo x > a.txt; cat a.txt")).toMatchObject({ out: "x" });
    expect((await transaction.changes()).map(({ path }) => path)).toEqual(["a.txt"]);
    await transaction.discard();
  });

  const kOther = 12_345;
  const words = ["setpriv", "--reuid", `${kOther}`, "--regid", `${kOther}`, "--clear-groups"];
  const canBeOther = isRoot && spawnSync("setpriv", [...words.slice(1), "true"]).status === 0;
  const whyNot = canBeOther ? undefined : "only root can give files to another user";

  testUnless(whyNot, "takes a copy of another user's files, as far as they can be read", () => {
    const workspace = project();
    const state = stateDirectory();
    for (const path of [workspace, join(workspace, "a.txt"), state])
      chownSync(path, kOther, kOther);
    const reported = toldUnderMounts<Reported & { foreign: { message: string }; owner: number }>(
      "true",
      `
      const workspace = ${JSON.stringify(workspace)};
      const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      const transaction = await runner.openTransaction({ directory: ${JSON.stringify(state)} });
      const ran = await sh(transaction, "echo mine > a.txt; cat a.txt b.txt; touch gone.txt; rm run.sh");
      const changes = pathsOf(await transaction.changes());
      await sh(transaction, "echo mine > b.txt");
      const foreign = await failure(transaction.commit());
      await transaction.commit({ paths: ["a.txt", "run.sh"] });
      const host = fs.readFileSync(workspace + "/a.txt", "utf8");
      await transaction.discard();
      tell({ backend: transaction.backend, reason: transaction.backendReason, ran, changes, foreign, host });`,
      words,
    );
    expect(reported).toMatchObject({ backend: "copy", ran: { out: "mine\ntwo" }, host: "mine\n" });
    expect(reported.reason).toContain("another owner or group");
    expect(reported.changes, "another owner is no change").toEqual([
      "modified a.txt",
      "deleted run.sh",
    ]);
    expect(reported.foreign.message).toContain("b.txt can't be copied: its owner or group");
    expect(statSync(join(workspace, "b.txt")).uid).toBe(0);
    expect(readdirSync(workspace).sort()).toEqual(["a.txt", "b.txt", "gone.txt"]);
  });

  testUnless(whyNot, "refuses one that can't be read, by its name", () => {
    const workspace = project();
    const state = stateDirectory();
    for (const path of [workspace, state]) chownSync(path, kOther, kOther);
    chmodSync(join(workspace, "b.txt"), 0o600);
    const script = `
      const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
      tell(await failure(runner.openTransaction({ directory: ${JSON.stringify(state)} })));`;
    const reported = toldUnderMounts<{ code: string; message: string }>("true", script, words);
    expect(reported).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE" });
    expect(reported.message).toContain("b.txt can't be copied");
    expect(reported.message, "and why it had to be").toContain("another owner or group");
    expect(readdirSync(state)).toEqual([]);
  });
});

describeSandboxed("what is required", () => {
  test("is an overlay, or nothing runs", async () => {
    const runner = new BubblewrapNativeRunner({
      shadowDir: project(),
      prewarm: 0,
      required: ["transaction:overlay"],
    });
    const directory = stateDirectory();
    const copy = await runner.openTransaction({ directory, backend: "copy" });
    const seen = await run(copy, "echo x > a.txt");
    expect(seen).toMatchObject({ kind: "setup-failed" });
    expect(seen.err).toContain("transaction:overlay");
    expect(await copy.changes()).toEqual([]);
    const overlay = await runner.openTransaction({ directory, backend: "overlay" });
    expect(await run(overlay, "cat a.txt"), "the control").toMatchObject({ out: "one" });
    await runner.close();
  });
});
