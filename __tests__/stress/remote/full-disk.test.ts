/**
 * A worker whose disk is full: what needs room there is told as failed, what needs none goes on, and when there is room
 * again all is as before. Its state and its copies of workspaces lie on small file systems of a mount namespace of its own.
 */

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";
import type { Machines } from "./support/machines.js";
import { manyRounds, mixedRuns, type Random, roundsOf } from "./support/rounds.js";

const kMiB = 1024 ** 2;
const kName = "small";
const kRounds = 2;
const kRuns = 24;
const kNoRoom = /ENOSPC|[Nn]o space left/;
/** Mounts what the first two words name, and goes on as the rest. */
const kMount = `
  mount -t tmpfs -o size=6m small "$1" && mount -t tmpfs -o size=6m small "$2" || exit 99
  export XDG_STATE_HOME="$1"; shift 2; exec "$@"`;

const whyNoMounts =
  process.getuid?.() === 0 ? undefined : "only root has a mount namespace with tmpfs in it here";

/** What a command leaves in the workspace that is moved. */
const kCat = { argv: ["sh", "-c", "cat small; echo back >> made"] };
const kShared = { backend: "copy" } as const;

/** A lane's worker, and two runners: one for transactions on it, one whose workspace is moved to it. */
class SmallDisk {
  readonly shared: RemoteNativeRunner;
  readonly mover: RemoteNativeRunner;
  readonly from = tempDirectory("moved");
  readonly #seenHere: readonly string[];

  private constructor(machines: Machines, seenHere: readonly string[]) {
    const place = { servers: machines.urls, insecure: true, pool: "faults" };
    this.shared = new RemoteNativeRunner({ ...place, workspace: machines.workspace() });
    const workspace = { directory: this.from, transactions: tempDirectory("own") };
    this.mover = new RemoteNativeRunner({ ...place, workspace });
    this.#seenHere = seenHere;
    this.put("small", "small\n");
  }

  static async start(machines: Machines): Promise<SmallDisk> {
    await machines.startBroker();
    const state = tempDirectory("state");
    const moved = path.join(machines.workspaces, `.native-runner-${kName}`);
    mkdirSync(moved);
    const before = ["unshare", "--mount", "sh", "-c", kMount, "sh", state, moved];
    await machines.startWorker(kName, { before });
    return new SmallDisk(machines, [state, moved]);
  }

  put(name: string, content: string | Uint8Array): void {
    writeFileSync(path.join(this.from, name), content);
  }

  read(name: string): string {
    return readFileSync(path.join(this.from, name), "latin1");
  }

  /** With room, a command in a workspace that is moved works, and what it has made comes back. */
  async expectMoved(): Promise<void> {
    const made = existsSync(path.join(this.from, "made")) ? this.read("made") : "";
    expect(await this.mover.exec(kCat)).toMatchObject({
      exitCode: 0,
      stdoutText: this.read("small"),
    });
    expect(this.read("made")).toBe(`${made}back\n`);
  }

  /** A workspace for which there is no room is refused, and stays as it is. */
  async expectNoRoomToMove(): Promise<void> {
    const big = randomBytes(12 * kMiB);
    this.put("big", big);
    const made = this.read("made");
    const sent = await this.mover.exec(kCat).then(
      ({ outcome }) => outcome,
      (error: unknown) => error,
    );
    expect(String((sent as { message?: unknown }).message ?? JSON.stringify(sent))).toMatch(
      kNoRoom,
    );
    expect(readFileSync(path.join(this.from, "big")).equals(big)).toBe(true);
    expect(this.read("made")).toBe(made);
    this.put("big", "no more\n");
  }

  async close(): Promise<void> {
    await Promise.all([this.shared.close(), this.mover.close()]);
    // The small file systems are the worker's alone: nothing of all this is seen here.
    expect(this.#seenHere.flatMap((each) => readdirSync(each))).toEqual([]);
  }
}

/** Fills the disk while runs that need no room go on: all of those end by themselves. */
async function round(disk: SmallDisk, machines: Machines, random: Random) {
  const { shared } = disk;
  // The controls: with room, a transaction and a workspace that is moved work.
  const first = await shared.openTransaction(kShared);
  const bytes = Math.floor(kMiB * (0.5 + 2 * random()));
  const wrote = await first.exec({ argv: ["sh", "-c", `head -c ${bytes} /dev/zero > zeros`] });
  expect(wrote.exitCode).toBe(0);
  await disk.expectMoved();

  const caller = machines.startCaller(mixedRuns(kRuns, random, 5));
  await delay(random() * 1_000);
  // A command fills the file system of the state: it is told so, as by any full disk.
  const full = await first.exec({ argv: ["sh", "-c", "head -c 20000000 /dev/zero > more"] });
  expect(full.outcome).toMatchObject({ kind: "exited" });
  expect([full.exitCode === 0, full.stderrText]).toEqual([false, expect.stringMatching(kNoRoom)]);
  await expect(shared.openTransaction(kShared)).rejects.toThrow(kNoRoom);
  await disk.expectNoRoomToMove();
  await caller.gone;
  const verdict = await machines.verdict(caller, {
    faultAt: Date.now(),
    withinMs: Number.POSITIVE_INFINITY,
  });

  // What there was is kept, and may go; then there is room, and all works again.
  expect((await first.changes()).map(({ path: each }) => each)).toContain("zeros");
  await first.discard();
  const last = String(random());
  const third = await shared.openTransaction(kShared);
  await third.exec({ argv: ["sh", "-c", `echo ${last} > last`] });
  await third.commit();
  await third.discard();
  expect(await shared.exec({ argv: ["cat", "last"] })).toMatchObject({ stdoutText: `${last}\n` });
  disk.put("small", `again ${last}\n`);
  await disk.expectMoved();
  return verdict;
}

describeUnless(
  whyNoNatsServer ?? whyNoBubblewrap ?? whyNoMounts,
  "a worker whose disk is full",
  () => {
    test("tells who needs room, serves who needs none, and goes on when there is some", async () => {
      const disks = new Map<Machines, SmallDisk>();
      const outcomes = await manyRounds(
        "a full disk",
        kRounds,
        async (machines) => void disks.set(machines, await SmallDisk.start(machines)),
        async (machines, random) => {
          const disk = disks.get(machines);
          if (disk === undefined) throw new Error("it was not started");
          return round(disk, machines, random);
        },
      );
      expect(outcomes).toEqual({ exited: kRuns * roundsOf(kRounds) });
      await Promise.all([...disks.values()].map((disk) => disk.close()));
    });
  },
);
