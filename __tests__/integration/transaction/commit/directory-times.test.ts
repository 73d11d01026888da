/** A commit keeps the times that commands gave to directories: those of archives and copies. */

import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { describeBackends } from "../../support/transactions.js";

const kLongAgo = 1_000_000_000; // seconds since 1970

const secondsOf = (path: string) => statSync(path).mtimeMs / 1000;

describeBackends("a commit's directories", (open) => {
  test("have the times that commands gave to new ones", async () => {
    const workspace = tempDirectory();
    mkdirSync(join(workspace, "old/deep"), { recursive: true });
    writeFileSync(join(workspace, "old/deep/file"), "text");
    for (const [at, name] of ["old/deep/file", "old/deep", "old"].entries())
      utimesSync(join(workspace, name), kLongAgo + at, kLongAgo + at);
    const { transaction } = await open(workspace);
    const script =
      "cp -a old copied; mkdir extracted; tar -C old -cf - . | tar -C extracted -xpf -; " +
      `mkdir -m 555 shut; touch -d @${kLongAgo + 5} shut; mkdir now`;
    expect((await run(transaction, ["sh", "-c", script])).err).toBe("");
    const begun = Date.now() / 1000;
    await transaction.commit();
    const seen = [
      "copied/deep/file",
      "copied/deep",
      "copied",
      "extracted/deep",
      "extracted",
      "shut",
    ].map((name) => secondsOf(join(workspace, name)) - kLongAgo);
    expect(seen).toEqual([0, 1, 2, 1, 2, 5]);
    expect(statSync(join(workspace, "shut")).mode & 0o777).toBe(0o555);
    // The positive control: one whose times nobody set is new.
    expect(secondsOf(join(workspace, "now"))).toBeGreaterThan(begun - 60);
    await transaction.undo();
    expect(secondsOf(join(workspace, "old/deep"))).toBe(kLongAgo + 1);
    await transaction.commit();
    expect(secondsOf(join(workspace, "copied"))).toBe(kLongAgo + 2);
    await transaction.discard();
  });

  test("keep theirs when a command renames them", async () => {
    const workspace = tempDirectory();
    mkdirSync(join(workspace, "old/deep"), { recursive: true });
    writeFileSync(join(workspace, "old/deep/file"), "text");
    for (const [at, name] of ["old/deep/file", "old/deep", "old"].entries())
      utimesSync(join(workspace, name), kLongAgo + at, kLongAgo + at);
    const { transaction } = await open(workspace);
    expect(await run(transaction, ["mv", "old", "new"])).toMatchObject({ exitCode: 0 });
    await transaction.commit();
    const seen = ["new/deep/file", "new/deep", "new"].map(
      (name) => secondsOf(join(workspace, name)) - kLongAgo,
    );
    expect(seen).toEqual([0, 1, 2]);
    await transaction.discard();
  });
});
