/**
 * A worker whose disk is full: what needs room there is told as failed, what needs none goes on, and when there is room
 * again all is as before. Its state and its copies of workspaces lie on small file systems of a mount namespace of its own.
 */

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/gate.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { randomOf, seedOf } from "../transactions/random.js";
import { Machines } from "./support/machines.js";
import { mixedRuns } from "./support/rounds.js";

const kMiB = 1024 ** 2;
const kName = "small";
/** Mounts what the first two words name, and goes on as the rest. */
const kMount = `
  mount -t tmpfs -o size=6m small "$1" && mount -t tmpfs -o size=6m small "$2" || exit 99
  export XDG_STATE_HOME="$1"; shift 2; exec "$@"`;

const whyNoMounts =
  process.getuid?.() === 0 ? undefined : "only root has a mount namespace with tmpfs in it here";

describeUnless(
  whyNoNatsServer ?? whyNoBubblewrap ?? whyNoMounts,
  "a worker whose disk is full",
  () => {
    test("tells who needs room, serves who needs none, and goes on when there is some", async () => {
      const seed = seedOf();
      const machines = new Machines();
      const { url } = await machines.startBroker();
      const state = tempDirectory("state");
      const moved = path.join(machines.workspaces, `.native-runner-${kName}`);
      mkdirSync(moved);
      const before = ["unshare", "--mount", "sh", "-c", kMount, "sh", state, moved];
      await machines.startWorker(kName, { before });
      const place = { servers: [url], insecure: true, pool: "faults" };
      const shared = new RemoteNativeRunner({ ...place, workspace: machines.workspace() });
      const from = tempDirectory("moved");
      writeFileSync(path.join(from, "small"), "small\n");
      const options = { workspace: { directory: from, transactions: tempDirectory("own") } };
      const mover = new RemoteNativeRunner({ ...place, ...options });
      const cat = { argv: ["sh", "-c", "cat small; echo back > made"] };

      // The controls: with room, a transaction and a workspace that is moved work.
      const first = await shared.openTransaction({ backend: "copy" });
      const wrote = await first.exec({ argv: ["sh", "-c", "head -c 1000000 /dev/zero > zeros"] });
      expect(wrote.exitCode).toBe(0);
      expect(await mover.exec(cat)).toMatchObject({ exitCode: 0, stdoutText: "small\n" });
      expect(readFileSync(path.join(from, "made"), "utf8")).toBe("back\n");

      // A command fills the file system of the state: it is told so, as by any full disk.
      const full = await first.exec({ argv: ["sh", "-c", "head -c 20000000 /dev/zero > more"] });
      expect(full.exitCode).not.toBe(0);
      expect(full.outcome).toMatchObject({ kind: "exited" });
      expect(full.stderrText).toMatch(/No space left/);
      const second = shared.openTransaction({ backend: "copy" });
      await expect(second).rejects.toThrow(/ENOSPC|[Nn]o space left/);

      // A workspace for which there is no room.
      const big = path.join(from, "big");
      writeFileSync(big, randomBytes(12 * kMiB));
      const sent = await mover.exec(cat).then(
        ({ outcome }) => outcome,
        (error: unknown) => error,
      );
      expect(String((sent as { message?: unknown }).message ?? JSON.stringify(sent))).toMatch(
        /ENOSPC|[Nn]o space left/,
      );
      expect(readFileSync(big).length).toBe(12 * kMiB);
      expect(readFileSync(path.join(from, "made"), "utf8")).toBe("back\n");

      // Runs that need no room there: all of them end by themselves.
      const caller = machines.startCaller(mixedRuns(24, randomOf(seed), 5));
      await caller.gone;
      const verdict = await machines.verdict(caller, {
        faultAt: Date.now(),
        withinMs: Number.POSITIVE_INFINITY,
      });
      expect(verdict, `seed ${seed}`).toEqual({ complaints: [], outcomes: { exited: 24 } });

      // What there was is kept, and may go; then there is room, and all works again.
      expect((await first.changes()).map(({ path: each }) => each)).toContain("zeros");
      await first.discard();
      const third = await shared.openTransaction({ backend: "copy" });
      await third.exec({ argv: ["sh", "-c", "echo committed > last"] });
      await third.commit();
      await third.discard();
      expect(await shared.exec({ argv: ["cat", "last"] })).toMatchObject({
        stdoutText: "committed\n",
      });
      writeFileSync(big, "no more\n");
      writeFileSync(path.join(from, "small"), "again\n");
      expect(await mover.exec(cat)).toMatchObject({ exitCode: 0, stdoutText: "again\n" });
      // The small file systems are the worker's alone: nothing of all this is seen here.
      expect([existsSync(moved) ? readdirSync(moved) : [], readdirSync(state)]).toEqual([[], []]);
      await Promise.all([shared.close(), mover.close()]);
      await machines.end();
    });
  },
);
