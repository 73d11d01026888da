// As root too: only root can mount such a file system.
/** File systems that keep whole seconds: what is done within one is told from one another by contents. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

import {
  describeSandboxed,
  isRoot,
  plainEnvironment,
  testUnless,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kBackends } from "../support/transactions.js";
import { toldUnderMounts } from "./own-mounts.js";

/** Mounts an ext4 whose inodes have no room for nanoseconds. */
const mountCoarse = (top: string) => {
  mkdirSync(join(top, "mnt"), { recursive: true });
  const image = join(top, "image");
  return [
    "PATH=$PATH:/usr/sbin:/sbin",
    `truncate -s 64M ${image}`,
    `mkfs.ext4 -q -F -I 128 ${image} > ${image}.log 2>&1`,
    `mount -o loop ${image} ${join(top, "mnt")}`,
  ].join(" && ");
};

function whyNoCoarse(): string | undefined {
  if (!isRoot) return "an ordinary user can mount no such file system";
  const script = mountCoarse(tempDirectory("coarse"));
  const tried = spawnSync("unshare", ["-m", "sh", "-c", script], {
    encoding: "utf8",
    env: plainEnvironment(),
  });
  return tried.status === 0 ? undefined : `ext4 on a loop device can't be had: ${tried.stderr}`;
}

const whyNot = whyNoCoarse();

const kPrelude = (top: string, backend: string) => `
  const workspace = join(${JSON.stringify(top)}, "mnt/work");
  const directory = join(${JSON.stringify(top)}, "mnt/state");
  fs.mkdirSync(workspace);
  fs.mkdirSync(directory, { mode: 0o700 });
  const put = (name, text) => fs.writeFileSync(join(workspace, name), text);
  const host = (name) => fs.readFileSync(join(workspace, name), "utf8");
  // What follows has the time until the next second.
  const secondBegins = async () => {
    while (Date.now() % 1000 > 50) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
  const options = { directory, backend: ${JSON.stringify(backend)} };
  let transaction;
  // Of files that the host has made in the same second.
  const open = async () => {
    await transaction?.discard();
    await secondBegins();
    put("a", "one\\n");
    fs.rmSync(join(workspace, "new"), { force: true });
    transaction = await runner.openTransaction(options);
  };
  await open();
  const again = async () => {
    await transaction.close();
    transaction = await runner.resumeTransaction(transaction.id, options);
  };
  const rounds = [];`;

const kRounds = 2;

describeSandboxed("on a file system with whole seconds", () => {
  const told = (backend: string, round: string) => {
    const top = tempDirectory("coarse");
    const script = `${kPrelude(top, backend)}
      for (let at = 0; at < ${kRounds}; ++at) {
        ${round}
      }
      await transaction.discard();
      tell({ coarse: fs.statSync(join(workspace, "a"), { bigint: true }).ctimeNs % 1000000000n === 0n, rounds });`;
    const { coarse, rounds } = toldUnderMounts<{ coarse: boolean; rounds: unknown[] }>(
      mountCoarse(top),
      script,
    );
    expect(coarse).toBe(true);
    expect(existsSync(join(top, "mnt/work"))).toBe(false); // it was mounted for the script alone
    return rounds;
  };
  const times = (value: unknown) => Array.from({ length: kRounds }, () => value);

  const promise = (name: string, body: (backend: (typeof kBackends)[number]) => void) => {
    for (const backend of kBackends) {
      testUnless(whyNot, `${name} (${backend})`, () => body(backend), 120_000);
    }
  };

  promise("a host's edit after a command is a conflict, and nothing is lost", (backend) => {
    const rounds = told(
      backend,
      `await open();
      await sh(transaction, "echo mi" + at + " > a");
      const none = (await transaction.changes()).some(({ conflict }) => conflict);
      put("a", "HO" + at + "\\n");
      const failed = await failure(transaction.commit());
      rounds.push({ none, code: failed?.code, paths: failed?.paths, host: host("a") === "HO" + at + "\\n" });`,
    );
    const code = "ERR_TRANSACTION_CONFLICT";
    expect(rounds).toEqual(times({ none: false, code, paths: ["a"], host: true }));
  });

  promise("it is one for the next process too", (backend) => {
    const rounds = told(
      backend,
      `await open();
      await sh(transaction, "echo mi" + at + " > a");
      put("a", "HO" + at + "\\n");
      await again();
      rounds.push((await failure(transaction.commit()))?.code);`,
    );
    expect(rounds).toEqual(times("ERR_TRANSACTION_CONFLICT"));
  });

  promise("a host's edit after a commit and a command is a conflict", (backend) => {
    const rounds = told(
      backend,
      `await open();
      await sh(transaction, "echo mi" + at + " > a");
      await secondBegins();
      await transaction.commit();
      await sh(transaction, "echo MI" + at + " > a");
      put("a", "HO" + at + "\\n");
      rounds.push((await failure(transaction.commit()))?.code, host("a") === "HO" + at + "\\n");`,
    );
    expect(rounds).toEqual(times(["ERR_TRANSACTION_CONFLICT", true]).flat());
  });

  promise("without one, each commit and undo is done", (backend) => {
    const rounds = told(
      backend,
      `await sh(transaction, "echo mi" + at + " > a; echo new > n" + at);
      await transaction.commit();
      await sh(transaction, "echo MI" + at + " > a; echo NEW > n" + at);
      await transaction.commit();
      const after = host("a");
      await transaction.undo();
      const undone = host("a");
      await transaction.commit();
      rounds.push([after, undone, host("a"), host("n" + at)].join(""));`,
    );
    expect(rounds).toEqual(rounds.map((_, at) => `MI${at}\nmi${at}\nMI${at}\nNEW\n`));
    expect(rounds).toHaveLength(kRounds);
  });

  promise("what was written after it was seen is not committed", (backend) => {
    const rounds = told(
      backend,
      `await secondBegins();
      await sh(transaction, "printf good > a");
      const seen = await transaction.changes({ details: true });
      await sh(transaction, "printf EVIL > a");
      const failed = await failure(transaction.commit({ expected: seen }));
      const before = host("a") !== "EVIL";
      const now = await transaction.changes({ details: true });
      await transaction.commit({ expected: now });
      rounds.push([failed?.code, before, host("a")]);
      await sh(transaction, "printf 'one\\n' > a");
      await transaction.commit();`,
    );
    expect(rounds).toEqual(times(["ERR_TRANSACTION_UNEXPECTED", true, "EVIL"]));
  });

  promise("an undo takes no edit of the host's away", (backend) => {
    const rounds = told(
      backend,
      `await open();
      await secondBegins();
      await sh(transaction, "echo mi" + at + " > a; echo ne" + at + " > new");
      await transaction.commit();
      const name = at % 2 ? "a" : "new";
      put(name, "HO" + at + "\\n");
      const failed = await failure(transaction.undo());
      rounds.push([failed?.code, failed?.paths?.[0] === name, host(name) === "HO" + at + "\\n"]);`,
    );
    expect(rounds).toEqual(times(["ERR_TRANSACTION_CONFLICT", true, true]));
  });
});
