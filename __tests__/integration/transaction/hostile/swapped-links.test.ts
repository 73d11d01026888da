// As root too: owners, modes and mounts differ for root.
/**
 * A directory on the way is exchanged for a link to outside, and back, as fast as it goes: by a command
 * while changes are told, and by somebody on the host while they are committed.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { buildProbe } from "../../support/probe.js";
import { describeSandboxed } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { openTransaction } from "../../support/transactions.js";
import { manifestOf } from "./compare-trees.js";

const kSecret = "the-secret-of-the-host";
const kTimes = "2000000000"; // until it is ended

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

/** A directory with the same names as the workspace's `dir`. */
function outside(): string {
  const directory = tempDirectory("outside");
  for (const name of ["x", "y"]) writeFileSync(join(directory, name), `${kSecret}\n`);
  return directory;
}

function workspaceWith(link: string): string {
  const workspace = tempDirectory();
  mkdirSync(join(workspace, "dir"));
  for (const name of ["x", "y"]) writeFileSync(join(workspace, "dir", name), "own\n");
  symlinkSync(link, join(workspace, "link"));
  return workspace;
}

async function whileSwapped(workspace: string, work: () => Promise<void>): Promise<void> {
  const args = ["swap", join(workspace, "dir"), join(workspace, "link"), kTimes];
  const swapping: ChildProcess = spawn(probe, args, { stdio: "ignore" });
  const ended = once(swapping, "exit");
  try {
    await work();
  } finally {
    expect(swapping.exitCode, "it still swaps").toBe(null);
    swapping.kill("SIGKILL");
    await ended;
  }
}

describeSandboxed("while a directory is exchanged for a link to outside", () => {
  test("by a command: no change or diff tells of what is there", async () => {
    const elsewhere = outside();
    const workspace = workspaceWith(elsewhere);
    buildProbe(workspace);
    const { transaction } = await openTransaction(workspace);
    const controller = new AbortController();
    // Directories of its own can be exchanged, the project's not.
    const script = `cp -r dir own; echo mine > own/x; echo n > own/new
      exec ./probe swap own link ${kTimes}`;
    const swapping = run(transaction, script, { signal: controller.signal });
    await expect.poll(async () => (await transaction.changes()).length).toBeGreaterThan(2);
    let reported = 0;
    for (let left = 150; left > 0; left -= 1) {
      for (const call of [() => transaction.changes(), () => transaction.diff()]) {
        const seen = await call().catch((error: Error & { code?: string }) => error);
        if (seen instanceof Error) {
          expect(seen).toMatchObject({ code: "ERR_SANDBOX_SETUP" });
        } else {
          reported += 1;
          expect(JSON.stringify(seen)).not.toContain(kSecret);
        }
      }
    }
    controller.abort();
    expect(await swapping).toMatchObject({ kind: "aborted" });
    expect(reported).toBeGreaterThan(0);
    await transaction.discard();
  });

  test("on the host: a commit changes nothing outside", async () => {
    const elsewhere = outside();
    const before = manifestOf(elsewhere);
    let done = 0;
    let refused = 0;
    for (let round = 0; round < 12; round += 1) {
      const workspace = workspaceWith(elsewhere);
      const { transaction } = await openTransaction(workspace);
      await run(transaction, "echo mine > dir/x; rm dir/y; echo mine > dir/new");
      await transaction.changes();
      await whileSwapped(workspace, async () => {
        const end = await transaction.commit().catch((error: Error & { code?: string }) => error);
        if (!(end instanceof Error)) done += 1;
        else {
          refused += 1;
          expect(["ERR_TRANSACTION_CONFLICT", "ERR_SANDBOX_SETUP"]).toContain(end.code);
        }
      });
      expect(manifestOf(elsewhere)).toEqual(before);
      await transaction.close();
    }
    expect(done + refused).toBe(12);
    expect(refused).toBeGreaterThan(0);
  });

  test("the control: who goes by paths does change what is outside", async () => {
    const elsewhere = outside();
    const workspace = workspaceWith(elsewhere);
    await whileSwapped(workspace, async () => {
      const reached = () => readFileSync(join(elsewhere, "x"), "utf8") === "reached";
      for (let left = 100_000; left > 0 && !reached(); left -= 1) {
        writeFileSync(join(workspace, "dir/x"), "reached");
      }
      expect(reached()).toBe(true);
    });
  });
});
