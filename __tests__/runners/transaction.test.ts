/** What lib adds around a transaction: whose turn it is, its end, and the runners that take part in it. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
  parseRuntimeConfig,
} from "../../lib/index.js";
import { ConfiguredRuntime } from "../../lib/runtime/configured-runtime.js";
import { kKinds } from "../../lib/runtime/kinds.js";
import { type FakeAddon, nativeError, result } from "../support/fake-addon.js";
import { freshAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

let fake: FakeAddon;
beforeEach(() => {
  fake = freshAddon();
});

const make = () => new BubblewrapNativeRunner({ shadowDir: "/w" });
const reported = () => fake.reported.map(([what]) => what);

describe("what the host has", () => {
  it("is looked at after each run, once for those that end meanwhile", async () => {
    const transaction = await make().openTransaction();
    const runs = [1, 2, 3].map(() => transaction.exec({ argv: ["true"] }));
    await expect.poll(() => fake.runs).toHaveLength(3);
    expect(reported()).toEqual(["open"]);
    for (const run of fake.runs) run.resolve(result());
    await Promise.all(runs);
    await expect.poll(() => reported()).toEqual(["open", "look", "look"]);
  });
});

describe("what is begun in a transaction", () => {
  it("waits until the overlay has looked at the host's files again, once for all", async () => {
    const transaction = await make().openTransaction();
    fake.isStale = true;
    const runs = [1, 2].map(() => transaction.exec({ argv: ["true"] }));
    const live = transaction.spawn({ argv: ["true"] });
    live.catch(() => {});
    expect(fake.runs).toHaveLength(0);
    await expect.poll(() => fake.runs).toHaveLength(3);
    expect(reported()).toEqual(["open", "freshen"]);
    for (const run of fake.runs) run.resolve(result());
    await Promise.all(runs);
  });

  it("begins within the call where nothing is stale", async () => {
    const transaction = await make().openTransaction();
    const running = transaction.exec({ argv: ["true"] });
    expect(fake.runs).toHaveLength(1);
    fake.run().resolve(result());
    expect((await running).audits).toMatchObject([{ transaction: "0123456789ab" }]);
  });

  it("waits for a commit, which ends what was begun before", async () => {
    const transaction = await make().openTransaction();
    fake.isStale = true;
    const before = transaction.exec({ argv: ["before"] });
    const committing = transaction.commit();
    const after = transaction.exec({ argv: ["after"] });
    await expect.poll(() => fake.aborted).toEqual([0]);
    expect(fake.runs.map(({ request }) => request.argv[0])).toEqual(["before"]);
    expect(reported()).toEqual(["open", "freshen", "check"]);
    fake.run(0).resolve(result({ outcome: { kind: "aborted" } }));
    await Promise.all([before, committing]);
    await expect.poll(() => fake.runs).toHaveLength(2);
    expect(reported().filter((what) => what !== "look")).toEqual([
      "open",
      "freshen",
      "check",
      "commit",
    ]);
    fake.run(1).resolve(result());
    await after;
    expect(fake.closed, "of the first handle").toBe(1);
    const { taken, standing } = transaction.metrics().pool;
    expect({ taken, standing }).toEqual({ taken: 10, standing: 2 });
  });

  it("is not begun where the overlay can't look again", async () => {
    const transaction = await make().openTransaction();
    fake.isStale = true;
    fake.freshenFailure = nativeError("no overlay", "ERR_SANDBOX_UNAVAILABLE");
    const refused = expect(transaction.exec({ argv: ["true"] })).rejects;
    await refused.toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE" });
    expect(fake.runs).toHaveLength(0);
    fake.freshenFailure = undefined;
    const running = transaction.exec({ argv: ["true"] });
    await expect.poll(() => fake.runs).toHaveLength(1);
    fake.run().resolve(result());
    await running;
  });
});

describe("what has a transaction for itself", () => {
  it("comes one after the other, whatever becomes of it", async () => {
    const transaction = await make().openTransaction();
    fake.undoConflicts = ["a"];
    const made = transaction.checkpoint("one");
    const undone = transaction.undo().catch(({ code }: { code: string }) => code);
    const rolled = made.then((checkpoint) => transaction.rollback(checkpoint));
    const closed = rolled.then(() => transaction.close());
    expect(await undone).toBe("ERR_TRANSACTION_CONFLICT");
    await closed;
    expect(reported()).toEqual(["open", "checkpoint", "undo", "rollback", "close"]);
  });

  it("is no checkpoint while a command runs", async () => {
    const transaction = await make().openTransaction();
    const running = transaction.exec({ argv: ["true"] });
    const busy = { code: "ERR_TRANSACTION_BUSY", message: "a command runs in the transaction" };
    await expect(transaction.checkpoint()).rejects.toMatchObject(busy);
    fake.run().resolve(result());
    await running;
    const { id, createdAt } = await transaction.checkpoint();
    expect(createdAt).toEqual(new Date(1000));
    expect(await transaction.checkpoints()).toEqual([{ id, createdAt }]);
  });

  it("is counted, with the runner's", async () => {
    const runner = make();
    const transaction = await runner.openTransaction();
    const { commitAnswer } = fake;
    // As the addon packs them: kind, type, size, what they were, mode, what it was, flags.
    const added = [0, 0, 7, 0, 0o100644, 0, 0, 0];
    const deleted = [2, 0, 0, 5, 0, 0o100644, 0, 0];
    const numbers = new Uint8Array(new Float64Array([...added, ...deleted]).buffer);
    commitAnswer.committed = { text: "a\0b", numbers };
    commitAnswer.digests = ["00ff", ""];
    const { audit } = await transaction.commit({ approvedBy: "me" });
    expect(audit).toMatchObject({
      approvedBy: "me",
      committed: [
        { path: "a", sha256: "00ff" },
        { path: "b", kind: "deleted" },
      ],
      omitted: 0,
    });
    expect(audit.committed?.[1]).not.toHaveProperty("sha256");
    const counts = { open: 1, opened: 1, commits: 1, paths: 2, bytes: 7, conflicts: 0 };
    expect(transaction.metrics().transactions).toMatchObject(counts);
    await transaction.close();
    await transaction.close();
    expect(runner.metrics().transactions).toMatchObject({ ...counts, open: 0 });
  });
});

describe("the end of a transaction", () => {
  it("comes after that of its runner's pool", async () => {
    const transaction = await make().openTransaction();
    await transaction.close();
    expect(fake.closed).toBe(1);
    await transaction.discard();
    await transaction.discard();
    expect(reported()).toEqual(["open", "close", "discard"]);
  });

  it("is final for its commands", async () => {
    const transaction = await make().openTransaction();
    await transaction.close();
    const closed = { code: "ERR_SANDBOX_CLOSED", message: "the transaction was closed" };
    await expect(transaction.exec({ argv: ["true"] })).rejects.toMatchObject(closed);
    await expect(transaction.warm()).rejects.toMatchObject(closed);
  });

  it("comes with the runner's, which keeps it", async () => {
    const runner = make();
    await runner.openTransaction();
    await runner.openTransaction();
    await runner.close();
    expect(reported()).toEqual(["open", "open", "close", "close"]);
    const closed = { code: "ERR_SANDBOX_CLOSED", message: "the runner was closed" };
    await expect(runner.openTransaction()).rejects.toMatchObject(closed);
    expect(reported()).toHaveLength(4);
  });

  it("comes at once for one that is up after the runner was closed", async () => {
    const runner = make();
    const opening = runner.openTransaction();
    await runner.close();
    await expect(opening).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    expect(reported()).toEqual(["open", "discard"]);
  });
});

describe("a runner in a transaction of another", () => {
  const kRunners = [LocalNativeRunner, LandlockNativeRunner, BubblewrapNativeRunner];

  it.each(kRunners)("hands it to the addon, and its options without it (%o)", async (Runner) => {
    const transaction = await make().openTransaction();
    const before = fake.options.length;
    new Runner({ shadowDir: "/w", transaction });
    expect(fake.options.slice(before)).toHaveLength(1);
    expect(fake.options.at(-1)).not.toHaveProperty("transaction");
    expect(fake.transactions.at(-1)).toBe(fake.transactions.at(before - 1));
    expect(fake.transactions.at(-1)).toBeDefined();
    new Runner({ shadowDir: "/w", transaction: undefined });
    expect(fake.transactions.at(-1)).toBeUndefined();
  });

  it.each(kRunners)("takes nothing else for one (%o)", async (Runner) => {
    const transaction = await make().openTransaction();
    for (const other of [null, "0123456789ab", {}, { ...transaction }, make()]) {
      const making = () => new Runner({ shadowDir: "/w", transaction: other as never });
      expect(making).toThrow(/Expected `transaction` to be a transaction/);
    }
  });

  it("is not to be had of Firejail, and of the other runtimes it is", async () => {
    const transaction = await make().openTransaction();
    const config = parseRuntimeConfig({});
    const runnerOf = (name: keyof typeof kKinds) =>
      new ConfiguredRuntime(kKinds[name], config).runner({ shadowDir: "/w", transaction });
    expect(() => runnerOf("firejail")).toThrow(/Firejail can't run commands in a transaction/);
    for (const name of ["bubblewrap", "landlock", "native"] as const) {
      runnerOf(name);
      expect(fake.transactions.at(-1), name).toBeDefined();
    }
  });

  it("is ended before the transaction is, and looked after", async () => {
    const transaction = await make().openTransaction();
    const runner = new LocalNativeRunner({ shadowDir: "/w", transaction });
    const first = runner.exec({ argv: ["true"] });
    await expect.poll(() => fake.runs).toHaveLength(1);
    fake.run().resolve(result());
    await first;
    await expect.poll(() => reported()).toEqual(["open", "look"]);

    const second = runner.exec({ argv: ["sleep", "9"] });
    await expect.poll(() => fake.runs).toHaveLength(2);
    const closing = transaction.close();
    await expect.poll(() => fake.aborted).toHaveLength(1);
    expect(reported()).toEqual(["open", "look"]);
    fake.run(1).resolve(result({ outcome: { kind: "aborted" } }));
    await Promise.all([second, closing]);
    await expect.poll(() => reported()).toContain("close");
  });
});
