/** What a death during discard() leaves is removed by the next transaction, and a record of any size keeps nobody busy. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { run } from "../support/results.js";
import { describeBackends, project } from "../support/transactions.js";

const kGone = "discarded-0123456789ab";

function leaveDiscarded(state: string): string {
  const left = join(state, kGone);
  mkdirSync(join(left, "upper", "deep"), { recursive: true });
  writeFileSync(join(left, "upper", "deep", "file"), "left\n");
  return left;
}

describeBackends("what a death has left", (open) => {
  test("a directory that was being discarded is removed when the next transaction is opened", async () => {
    const { runner, state, workspace } = await open(project());
    const left = leaveDiscarded(state);
    const other = join(state, "discarded-by-somebody-else");
    mkdirSync(other);
    const next = await runner.openTransaction({ directory: state });
    expect(existsSync(left)).toBe(false);
    expect(existsSync(other)).toBe(true); // it is no name of ours
    await next.discard();
    expect(readdirSync(workspace).sort()).toEqual(["a.txt", "b.txt", "gone.txt", "run.sh"]);
  });

  test("a directory that was being made is removed, but none that somebody makes, or has made", async () => {
    const { runner, state, transaction } = await open(project());
    const leave = (id: string, ...files: string[]) => {
      mkdirSync(join(state, id, "upper", "deep"), { recursive: true });
      for (const file of files) writeFileSync(join(state, id, file), "");
      return join(state, id);
    };
    const left = leave("0123456789ab", "lock", "upper/deep/file");
    const making = leave("1123456789ab", "lock");
    const begun = leave("2123456789ab", "lock.new");
    const other = leave("by-somebody-else", "lock");
    await transaction.close();
    const holder = spawn("flock", ["-x", join(making, "lock"), "-c", "echo held; cat"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(holder.stdout, "data");
    const next = await runner.openTransaction({ directory: state });
    expect(existsSync(left)).toBe(false);
    for (const each of [making, begun, other]) expect(existsSync(each)).toBe(true);
    expect(existsSync(join(state, transaction.id, "record"))).toBe(true);
    holder.stdin.end();
    await once(holder, "close");
    await (await next.fork()).discard();
    expect(existsSync(making)).toBe(false);
    await next.discard();
    await runner.close();
  });

  test("one that another process is discarding is left to it", async () => {
    const { runner, state } = await open(project());
    const left = leaveDiscarded(state);
    const holder = spawn("flock", ["-x", left, "-c", "echo held; cat"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(holder.stdout, "data");
    const first = await runner.openTransaction({ directory: state });
    expect(existsSync(join(left, "upper", "deep", "file"))).toBe(true);
    holder.stdin.end();
    await once(holder, "close");
    const second = await runner.openTransaction({ directory: state });
    expect(existsSync(left)).toBe(false);
    await first.discard();
    await second.discard();
  });

  test("a record of gigabytes is refused at once, and is listed by nobody", async () => {
    const { runner, state, transaction } = await open(project());
    await run(transaction, ["sh", "-c", "echo new > new.txt"]);
    await transaction.close();
    truncateSync(join(state, transaction.id, "record"), 2 ** 33);
    const allocated = spawnSync("du", ["-k", join(state, transaction.id, "record")], {
      encoding: "utf8",
    });
    expect(Number.parseInt(allocated.stdout, 10)).toBeLessThan(1024); // it has holes
    expect(await runner.transactions({ directory: state })).toEqual([]);
    await expect(runner.resumeTransaction(transaction.id, { directory: state })).rejects.toThrow(
      /File too large/,
    );
  });
});
