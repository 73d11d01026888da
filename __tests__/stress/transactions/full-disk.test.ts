/**
 * A disk that is full, in a mount namespace that is thrown away: a commit then changes nothing, what was
 * changed is still told, and once there is room again it can be done. EIO and the like at each system
 * call are in native/tests/effects/commit, without a device that fails.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { describeSandboxed } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { startProgram } from "./host-processes.js";

/** A host in a namespace in which `place` is a small file system of its own. */
function onSmallDisk(place: string, script: string, given: object) {
  const mount = `mount -t tmpfs -o size=24m none '${place}' && exec "$@"`;
  const before = ["unshare", "-rm", "sh", "-c", mount, "sh"];
  return startProgram(kCommon + script, { place, ...given }, before).ended;
}

const kCommon = `
  const fs = await import("node:fs");
  const { join } = await import("node:path");
  const say = (value) => process.stdout.write(JSON.stringify(value));
  const codeOf = (call) => call.then(() => "done", (error) => error.code);
  const filler = join(given.place, "filler");
  /** All that is left of the disk, to the last block. */
  const fill = () => {
    const file = fs.openSync(filler, "a");
    for (let size = 1 << 20; size >= 512; size = size >> 1) {
      const block = Buffer.alloc(size, 1);
      try {
        for (;;) fs.writeSync(file, block);
      } catch (error) {
        if (error.code !== "ENOSPC") throw error;
      }
    }
    fs.closeSync(file);
  };
  const state = join(given.place, "state");
  fs.mkdirSync(state, { mode: 0o700 });
  const workspace = given.workspace ?? join(given.place, "workspace");
  fs.mkdirSync(workspace, { recursive: true });
  for (let i = 0; i < 40; i += 1) fs.writeFileSync(join(workspace, "f" + i), "host");
  const treeOf = () =>
    fs.readdirSync(workspace).sort().map((name) => name + "=" + fs.readFileSync(join(workspace, name), "latin1").slice(0, 9));
  const runner = new api.BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
  let transaction;
  try {
    transaction = await runner.openTransaction({ directory: state });
  } catch (error) {
    say({ why: error.code === "ERR_SANDBOX_UNAVAILABLE" ? error.message : undefined, error: String(error) });
    process.exit();
  }
  const sh = async (script) => {
    const result = await transaction.exec({ argv: ["sh", "-c", script] });
    return [result.exitCode, Buffer.from(result.stdout).toString(), Buffer.from(result.stderr).toString()];
  };
`;

/** A host of the given script; skipped where its small disk holds no overlay. */
const kBoth = `
  const before = treeOf();
  const changed = await sh("for f in f*; do echo mine > $f; done; rm f7; echo new > made");
  fill();
  const reported = (await transaction.changes()).length;
  const diff = (await transaction.diff()).includes("+mine");
  const failing = await sh("echo more > other && head -c 4096 /dev/zero > other2");
  const refused = await codeOf(transaction.commit());
  const isSame = JSON.stringify(treeOf()) === JSON.stringify(before);
  fs.rmSync(filler);
  await transaction.close();
  const again = await runner.resumeTransaction(transaction.id, { directory: state });
  const { committed, left } = await again.commit();
  const after = treeOf();
  fill();
  const undone = await codeOf(again.undo());
  const whileFull = treeOf();
  fs.rmSync(filler);
  if (undone !== "done") {
    await again.close();
    const last = await runner.resumeTransaction(transaction.id, { directory: state });
    if ((await last.changes()).length === 0) await last.undo();
    await last.close();
  }
  const back = treeOf();
  fill();
  const final = await runner.resumeTransaction(transaction.id, { directory: state }).catch(() => again);
  const discarded = await codeOf(final.discard());
  say({ changed, reported, diff, failing, refused, isSame, committed: committed.length, left: left.length,
    after, before, undone, whileFull, back, discarded, states: fs.readdirSync(state) });`;

describeSandboxed("on a disk that is full", () => {
  test("with workspace and transaction, nothing is lost and nothing half done", async (context) => {
    const place = tempDirectory("disk");
    const { out, err, code } = await onSmallDisk(place, kBoth, {});
    const seen = JSON.parse(out || "{}");
    context.skip(seen.why !== undefined, `no overlay on a tmpfs: ${seen.why}`);
    expect(code, err + out).toBe(0);
    expect(seen).toMatchObject({ changed: [0, "", ""], reported: 41, diff: true, isSame: true });
    expect(seen.failing[0], "a command is told that the disk is full").not.toBe(0);
    expect(seen.refused).toBe("ERR_SANDBOX_SETUP");
    expect(seen.committed).toBeGreaterThanOrEqual(41);
    expect(seen.after).toContain("made=new\n");
    expect(seen.after).not.toContain("f7=host");
    expect(["done", "ERR_SANDBOX_SETUP"]).toContain(seen.undone);
    expect([seen.before, seen.after].map(String)).toContain(String(seen.whileFull));
    expect(seen.back).toEqual(seen.before);
    expect(seen).toMatchObject({ discarded: "done", states: [] });
  });

  test("with the transaction alone: a command is told, and the rest goes on", async (context) => {
    const place = tempDirectory("disk");
    const workspace = join(tempDirectory(), "workspace");
    mkdirSync(workspace);
    const script = `
      const before = treeOf();
      const filled = await sh("head -c 100000000 /dev/zero > big; echo $?; echo mine > f1; cat f1 f2");
      const reported = (await transaction.changes()).map(({ path }) => path);
      const freed = await sh("rm -f big; echo mine > f1 && cat f1");
      const isSame = JSON.stringify(treeOf()) === JSON.stringify(before);
      const discarded = await codeOf(transaction.discard());
      say({ filled, reported, freed, isSame, discarded, states: fs.readdirSync(state) });`;
    const { out, err, code } = await onSmallDisk(place, script, { workspace });
    const seen = JSON.parse(out || "{}");
    context.skip(seen.why !== undefined, `no overlay on a tmpfs: ${seen.why}`);
    expect(code, err + out).toBe(0);
    expect(seen.filled[2]).toContain("No space left");
    expect(seen.reported).toContain("big");
    expect(seen.freed).toEqual([0, "mine\n", ""]);
    expect(seen).toMatchObject({ isSame: true, discarded: "done", states: [] });
  });
});
