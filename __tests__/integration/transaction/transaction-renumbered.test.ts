// As root too: only root may attach loop devices.
/** Transactions whose devices have other numbers when they are resumed, as after a boot. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { describeUnless, isRoot, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kBackends } from "../support/transactions.js";
import { toldUnderMounts } from "./own-mounts.js";

function whyNoLoops(): string | undefined {
  if (!isRoot) return "only root may attach loop devices";
  if (!existsSync("/dev/loop-control")) return "there are no loop devices";
  if (spawnSync("mkfs.ext4", ["-V"]).status !== 0) return "there is no mkfs.ext4";
  return whyNoBubblewrap;
}

/** `remount()` mounts the image once more, by another loop device; it gives both device numbers. */
const kPrelude = (top: string) => `
  const { execFileSync } = await import("node:child_process");
  const top = ${JSON.stringify(top)};
  const at = join(top, "disk");
  const mount = (image, to) => {
    execFileSync("mount", ["-o", "loop", join(top, image), to]);
    return fs.statSync(to).dev;
  };
  let before = mount("image", at);
  fs.mkdirSync(join(at, "work"), { recursive: true });
  fs.mkdirSync(join(at, "state"), { recursive: true, mode: 0o700 });
  let taken = 0;
  const remount = () => {
    execFileSync("umount", [at]);
    // Others get the number that it had; whatever else uses loop devices may have taken it first.
    for (; taken < 8; taken += 1) {
      const other = join(top, "other" + taken);
      fs.mkdirSync(other);
      fs.copyFileSync(join(top, "image"), other + ".image");
      execFileSync("mount", ["-o", "loop", other + ".image", other]);
      if (fs.statSync(other).dev === before) break;
    }
    taken += 1;
    const numbers = [before, mount("image", at)];
    before = numbers[1];
    return numbers;
  };`;

function image(top: string): void {
  mkdirSync(join(top, "disk"));
  const made = spawnSync(
    "mkfs.ext4",
    ["-q", "-F", "-O", "^metadata_csum", join(top, "image"), "16M"],
    {
      encoding: "utf8",
    },
  );
  expect(made.status, made.stderr).toBe(0);
}

describeUnless(whyNoLoops(), "a transaction whose device has another number", () => {
  test.each(kBackends)("is resumed, committed and taken back (%s)", (backend) => {
    const top = tempDirectory();
    image(top);
    const reported = toldUnderMounts<Record<string, unknown>>(
      "true",
      `${kPrelude(top)}
      const workspace = join(at, "work");
      for (const name of ["a", "b", "c"]) fs.writeFileSync(join(workspace, name), "host " + name);
      const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      const options = { directory: join(at, "state"), backend: ${JSON.stringify(backend)} };
      let transaction = await runner.openTransaction(options);
      const { id } = transaction;
      const numbers = [];
      const again = async () => {
        await transaction.close();
        numbers.push(remount());
        transaction = await runner.resumeTransaction(id, options);
      };
      await sh(transaction, "echo mine > a; rm b; mkdir d; echo n > d/n");
      const changes = pathsOf(await transaction.changes());
      const kept = await transaction.checkpoint("kept");
      await again();
      const resumed = await transaction.changes();
      await sh(transaction, "echo later > a; echo more > c");
      await transaction.rollback(kept);
      const rolledBack = pathsOf(await transaction.changes());
      fs.writeFileSync(join(workspace, "c"), "the host's own edit");
      await transaction.commit();
      await again();
      const host = fs.readdirSync(workspace).sort().join() + fs.readFileSync(join(workspace, "a"), "utf8");
      await transaction.undo();
      const undone = fs.readdirSync(workspace).sort().join() + fs.readFileSync(join(workspace, "a"), "utf8");
      const waiting = pathsOf(await transaction.changes());
      await transaction.discard();
      tell({ numbers, changes, resumed: pathsOf(resumed), conflicts: resumed.filter(({ conflict }) => conflict).length,
        rolledBack, host, undone, waiting });`,
    );
    const { numbers, ...rest } = reported as { numbers: [number, number][] };
    for (const [then, now] of numbers) expect(now, "the number is the same").not.toBe(then);
    const changes = ["modified a", "deleted b", "added d", "added d/n"];
    expect(rest).toEqual({
      changes,
      resumed: changes,
      conflicts: 0,
      rolledBack: changes,
      host: "a,c,dmine\n",
      undone: "a,b,chost a",
      waiting: changes,
    });
  });

  // The positive control: what has the path is another file system, with the same files.
  test.each(kBackends)("is refused on another file system (%s)", (backend) => {
    const top = tempDirectory();
    image(top);
    const reported = toldUnderMounts<{ refused: { message: string }; resumed: string[] }>(
      "true",
      `${kPrelude(top)}
      const workspace = join(at, "work");
      const directory = join(top, "state");
      fs.mkdirSync(directory, { mode: 0o700 });
      fs.writeFileSync(join(workspace, "a"), "host");
      const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      const options = { directory, backend: ${JSON.stringify(backend)} };
      const transaction = await runner.openTransaction(options);
      await sh(transaction, "echo mine > a");
      await transaction.close();
      execFileSync("umount", [at]);
      fs.copyFileSync(join(top, "image"), join(top, "original"));
      execFileSync("tune2fs", ["-U", "random", "-f", join(top, "image")], { stdio: "ignore" });
      remountAs("image");
      const refused = await failure(runner.resumeTransaction(transaction.id, options));
      execFileSync("umount", [at]);
      remountAs("original");
      const resumed = await runner.resumeTransaction(transaction.id, options);
      tell({ refused, resumed: pathsOf(await resumed.changes()) });
      await resumed.discard();
      function remountAs(name) { mount(name, at); }`,
    );
    expect(reported.refused.message).toMatch(/was replaced/);
    expect(reported.resumed).toEqual(["modified a"]);
  });
});
