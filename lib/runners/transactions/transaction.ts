import { join } from "node:path";

import type {
  NativeCheckpoint,
  OpenedTransaction,
  TransactionHandle,
} from "../../../types/addon-transaction.js";
import type { BubblewrapNativeRunnerOptions } from "../../../types/public.js";
import type {
  Change,
  ChangesOptions,
  Checkpoint,
  CommitOptions,
  CommitReport,
  DiffOptions,
  ForkOptions,
  MergeOptions,
  MergeReport,
  Transaction,
  TransactionRun,
} from "../../../types/transaction.js";
import { untilAnswering } from "../../answering-path.js";
import type { AuditSink } from "../../audit-log/sink.js";
import { fromNative, invalidValue, SandboxError, TransactionError } from "../../errors.js";
import { HomeSource, type TransactionHome } from "../../home/home-view.js";
import type { TransactionCounts } from "../../metrics/run-metrics.js";
import { networkOption, withNetwork } from "../../network.js";
import { Supervised } from "../supervised.js";
import { SessionRunner } from "../supervised-runner.js";
import { forkOptions, mergeOfCommit, mergeOptions, mergeRequest } from "./branches.js";
import {
  commitRequest,
  expectDone,
  otherHandle,
  reportedChanges,
  some,
  textOf,
  unpacked,
} from "./changes.js";
import { type Member, type Membership, membershipOf, registerMembership } from "./membership.js";
import { TransactionRecords, TransactionRuns } from "./records.js";
import type { RoomNeeded, SpaceBound } from "./space.js";
import { stoppedAtExit } from "./stopped-at-exit.js";

const kMostName = 256;
/** The name of its home in its directory; the addon's kTransactionHome. */
const kHome = "home";

function checkpointOf({ id, name, createdMs }: NativeCheckpoint): Checkpoint {
  return { id, ...(name !== "" && { name }), createdAt: new Date(createdMs) };
}

/** Properties shared by the transactions of one runner. */
export type TransactionPolicy = {
  /** The options of the runner, which its transactions share. */
  runner: Omit<BubblewrapNativeRunnerOptions, "transaction">;
  /** Paths that a commit refuses to change; see `CommitRequest`. */
  protectedNames: readonly string[];
  /** Records their actions; undefined: none. */
  sink: AuditSink | undefined;
};

/** One open transaction; created by `Transactions`. */
export class WorkspaceTransaction extends SessionRunner implements Transaction {
  readonly id: string;
  readonly backend: Transaction["backend"];
  readonly backendReason: string | undefined;
  readonly recovered: Transaction["recovered"];
  readonly parent: string | undefined;
  readonly #resume: (id: string) => Promise<Transaction>;
  readonly #othersLooked: () => Promise<void>;
  readonly #supervised: Supervised;
  readonly #handle: TransactionHandle;
  readonly #protectedNames: readonly string[];
  readonly #members = new Set<Member>();
  #state: ReturnType<Membership["state"]> = "open";
  readonly #records: TransactionRecords;
  readonly #runs: TransactionRuns;
  readonly #turns = new ExclusiveLock(() => this.#freshening);
  /** Resolves once the looks that were asked for are done; undefined: they are. */
  #looking: Promise<void> | undefined;
  #looksAgain = false;
  #freshening: Promise<void> | undefined;
  /** Called when the next command has ended. */
  readonly #onEnd = new Set<() => void>();
  #discarded: Promise<void> | undefined;
  /** Resolves once the files that were replaced last are removed. */
  #sweeping: Promise<void> | undefined;
  readonly #workspace: string;
  readonly #space: SpaceBound | undefined;

  /** @param directory holds the transactions. */
  constructor(
    handle: TransactionHandle,
    { runner, protectedNames, sink }: TransactionPolicy,
    { id, backend, backendReason, recovered, parent }: OpenedTransaction,
    {
      counts,
      directory,
      caches,
      resume,
      othersLooked,
      space,
    }: {
      counts: TransactionCounts;
      directory: string;
      caches: TransactionHome["caches"];
      /** Opens another one of the same runner and directory. */
      resume: (id: string) => Promise<Transaction>;
      /** Resolves once the runner's other transactions have noted what they have changed. */
      othersLooked: () => Promise<void>;
      /** Of all of its workspace in the directory; undefined: they have no bound. */
      space: SpaceBound | undefined;
    },
  ) {
    // A sandbox that is made ahead would miss what the host installs until it is used.
    const natively = {
      ...withNetwork(runner),
      ...(caches && { prewarm: 0, clone: "never" as const }),
    };
    const supervised = new Supervised(
      (addon) => new addon.BubblewrapNativeRunner(natively, handle),
      undefined,
      "transaction",
    );
    super(
      supervised,
      {
        shadowDir: runner.shadowDir,
        write: runner.allowWriteWorkspace,
        workspacePath: runner.workspacePath,
      },
      (addon, session, poolNumber) =>
        new addon.BubblewrapSession(natively, session, handle, poolNumber),
      handle,
    );
    const home = { directory: join(directory, id, kHome), caches };
    supervised.home = new HomeSource(runner, home);
    supervised.secrets = networkOption(runner.network).secrets;
    supervised.meter.watch(() => this.#ended());
    supervised.ready = (hasWaited, isRun) => this.#ready(hasWaited, isRun);
    const { meter } = supervised;
    meter.transaction = id;
    meter.recordTo(sink);
    this.#runs = new TransactionRuns(join(directory, id));
    const keep = this.#runs.keep.bind(this.#runs);
    meter.keepRuns(keep);
    this.#records = new TransactionRecords(id, meter, [meter.transactions, counts]);
    this.#records.opened();
    this.id = id;
    this.backend = backend;
    this.backendReason = backendReason;
    this.recovered = recovered;
    this.parent = parent;
    this.belongTo({ id, parent, runner });
    this.#resume = resume;
    this.#othersLooked = othersLooked;
    this.#supervised = supervised;
    this.#workspace = runner.shadowDir;
    this.#space = space;
    this.#handle = handle;
    this.#protectedNames = protectedNames;
    registerMembership(this, {
      handle,
      workspace: runner.shadowDir,
      state: () => this.#state,
      looked: async () => this.#looking,
      home,
      ready: (hasWaited, isRun) => this.#ready(hasWaited, isRun),
      join: (member) => {
        this.#members.add(member);
        member.meter.transaction = id;
        member.meter.keepRuns(keep);
        member.meter.watch(() => this.#ended());
      },
    });
  }

  async warm(): Promise<number> {
    return this.#supervised.warm();
  }

  async changes(options: ChangesOptions = {}): Promise<Change[]> {
    try {
      const handle = this.#handle;
      const waits = untilAnswering(this.#workspace);
      if (waits) await waits;
      return await stoppedAtExit(handle, () =>
        reportedChanges(handle, options, this.#protectedNames),
      );
    } catch (error) {
      throw fromNative(error);
    }
  }

  async diff(options: DiffOptions = {}): Promise<string> {
    try {
      const waits = untilAnswering(this.#workspace);
      if (waits) await waits;
      const { since, sinceFork, ...rest } = options;
      const other = otherHandle({ since, sinceFork });
      return await stoppedAtExit(this.#handle, () => this.#handle.diff({ ...rest, ...other }));
    } catch (error) {
      throw fromNative(error);
    }
  }

  async runs(): Promise<TransactionRun[]> {
    return this.#runs.read();
  }

  async commit(options: CommitOptions = {}): Promise<CommitReport> {
    const { request, approver, merges } = commitRequest(options, this.#protectedNames);
    const check = async () => {
      const answer = await this.#handle.check(request);
      const isMerged = merges && answer.conflicts.length > 0;
      expectDone(isMerged ? { ...answer, conflicts: [] } : answer);
      if (!isMerged) return undefined;
      return mergeOfCommit(await this.#handle.planCommitMerge(request), answer.conflicts);
    };
    return this.#records.of("commit", async (audit, record) => {
      if (approver !== undefined) audit.approvedBy = approver;
      const { answer, planned } = await this.#native(() =>
        this.#turns.alone(async () => {
          await this.#othersLooked();
          // A refused commit ends no runs.
          if (!this.#areIdle()) await stoppedAtExit(this.#handle, check);
          await this.#endRuns();
          const planned = merges ? await stoppedAtExit(this.#handle, check) : undefined;
          const merged = planned && { merged: planned.request.files };
          const commit = () => this.#handle.commit({ ...request, ...merged });
          return { answer: expectDone(await stoppedAtExit(this.#handle, commit)), planned };
        }),
      );
      const committed = await unpacked(answer.committed);
      record(committed, answer.digests);
      const left = await unpacked(answer.left);
      if (!merges) return { committed, left, audit };
      const merged = planned?.merged ?? [];
      audit.merged = merged.length;
      return { committed, left, merged, audit };
    });
  }

  async undo(): Promise<void> {
    await this.#records.of("undo", async () => {
      const conflicts = await this.#native(() =>
        this.#turns.alone(async () => {
          await this.#othersLooked();
          await this.#endRuns();
          return this.#handle.undo();
        }),
      );
      if (conflicts.length === 0) return;
      const message = `the host has changed ${some(conflicts)} since it was committed`;
      throw new TransactionError(message, "ERR_TRANSACTION_CONFLICT", conflicts);
    });
  }

  async checkpoint(name?: string): Promise<Checkpoint> {
    const given = name === undefined ? {} : { name: textOf("name", name, kMostName) };
    return this.#records.of("checkpoint", async (audit) => {
      const made = await this.#native(() =>
        this.#turns.alone(async () => {
          this.#expectIdle();
          await this.#expectRoom({ id: this.id, bytes: (space) => space.changesBytes });
          return stoppedAtExit(this.#handle, () => this.#handle.checkpoint(given));
        }),
      );
      audit.checkpoint = made.id;
      return checkpointOf(made);
    });
  }

  async checkpoints(): Promise<Checkpoint[]> {
    return (await this.#native(() => this.#handle.checkpoints())).map(checkpointOf);
  }

  async rollback(to: Checkpoint | string): Promise<void> {
    const isCheckpoint = typeof to === "object" && to !== null && !Array.isArray(to);
    const id = isCheckpoint ? textOf("to.id", to.id, kMostName) : textOf("to", to, kMostName);
    await this.#records.of("rollback", async (audit) => {
      audit.checkpoint = id;
      await this.#native(() =>
        this.#turns.alone(async () => {
          const known = await this.#handle.checkpoints();
          if (known.every((each) => each.id !== id)) {
            throw invalidValue(`there is no checkpoint ${JSON.stringify(id)} any more`);
          }
          await this.#endRuns();
          await this.#handle.rollback({ id }).finally(() => this.#sweep());
        }),
      );
    });
  }

  fork(options?: ForkOptions & { count?: undefined }): Promise<Transaction>;
  fork(options: ForkOptions & { count: number }): Promise<Transaction[]>;
  async fork(options: ForkOptions = {}): Promise<Transaction | Transaction[]> {
    const { count, quiesce } = forkOptions(options);
    const forks = await this.#records.of("fork", async (audit) => {
      const made = await this.#native(() =>
        quiesce
          ? this.#turns.alone(async () => {
              await this.#quiet();
              this.#expectOpen();
              return this.#makeForks(count ?? 1);
            })
          : this.#makeForks(count ?? 1),
      );
      audit.forks = made.map(({ id }) => id);
      return made;
    });
    return count === undefined ? (forks[0] as Transaction) : forks;
  }

  /** All of them, or none. */
  async #makeForks(count: number): Promise<Transaction[]> {
    const made: Transaction[] = [];
    await this.#expectRoom({
      id: this.id,
      // Once more for what they come from, which all share.
      bytes: ({ changesBytes, homeBytes }) => (count + 1) * changesBytes + count * homeBytes,
    });
    try {
      while (made.length < count) {
        const id = await stoppedAtExit(this.#handle, () => this.#handle.fork());
        made.push(await this.#resume(id));
      }
      return made;
    } catch (error) {
      await Promise.allSettled(made.map((each) => each.discard()));
      throw error;
    }
  }

  async merge(from: Transaction, options: MergeOptions = {}): Promise<MergeReport> {
    return this.#merge("merge", from, mergeOptions(options));
  }

  async adopt(from: Transaction): Promise<MergeReport> {
    return this.#merge("adopt", from, { onConflict: "theirs" });
  }

  async #merge(
    action: "merge" | "adopt",
    from: Transaction,
    { paths, onConflict = "fail" }: MergeOptions,
  ): Promise<MergeReport> {
    const other = membershipOf(from, "from").handle;
    const wanted = { from: other, takesAll: action === "adopt", ...(paths && { paths }) };
    const plan = async () =>
      mergeRequest(
        await stoppedAtExit(this.#handle, () => this.#handle.planMerge(wanted)),
        onConflict,
        from.id,
      );
    return this.#records.of(action, async (audit) => {
      audit.from = from.id;
      const { merged, conflicts } = await this.#native(() =>
        this.#turns.alone(async () => {
          // A refused merge ends no runs.
          await this.#expectRoom({ id: from.id, bytes: (space) => space.changesBytes });
          if (!this.#areIdle()) await plan();
          await this.#endRuns();
          const planned = await plan();
          // Also where nothing is left to do: both have come from this state then, and what was decided is no
          // conflict again.
          const merge = { ...planned.request, from: other, ...(paths && { paths }) };
          await this.#handle.merge(merge).finally(() => this.#sweep());
          return planned;
        }),
      );
      audit.merged = merged.length;
      return { merged, conflicts, audit };
    });
  }

  override async close(): Promise<void> {
    this.#closes("closed");
    await this.#turns.alone(async () => {
      await this.#closeRuns();
      await this.#runs.flush();
      await this.#sweeping;
      await this.#handle.close();
    });
  }

  async discard(): Promise<void> {
    this.#discarded ??= this.#discard();
    return this.#discarded;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.discard();
  }

  /**
   * Delays new calls while an operation has the transaction exclusively, and lets them see the host's current
   * files.
   */
  #ready(hasWaited = false, isRun = true): Promise<void> | undefined {
    if (this.#isClosed) return undefined; // the call itself reports it
    if (isRun && this.#space?.isFull) return this.#awaitRoom();
    if (hasWaited) return this.#turns.taken();
    const others = this.#turns.asked();
    return others || this.#isStale() ? this.#becomeReady(others) : undefined;
  }

  /** @throws (rejects) TransactionError if there is none. */
  async #awaitRoom(): Promise<void> {
    await this.#sweeping;
    await this.#space?.expectNotFull();
    await this.#becomeReady(this.#turns.asked());
  }

  /** See {@link SpaceBound.expectRoom}. */
  async #expectRoom(adds: RoomNeeded): Promise<void> {
    if (this.#space === undefined) return;
    await this.#sweeping;
    await this.#space.expectRoom(adds);
  }

  #isStale(): boolean {
    return this.#freshening !== undefined || this.#handle.isStale();
  }

  async #becomeReady(others: Promise<void> | undefined): Promise<void> {
    if (others) await others;
    if (this.#isClosed || !this.#isStale()) return;
    this.#freshening ??= this.#handle.freshen().finally(() => {
      this.#freshening = undefined;
    });
    await this.#freshening;
  }

  /** Looks after each run; one look at a time, and one more for all runs that ended meanwhile. */
  #look(): void {
    this.#looksAgain = true;
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = undefined;
    });
  }

  async #lookAll(): Promise<void> {
    while (this.#looksAgain) {
      this.#looksAgain = false;
      await this.#handle.look().catch(() => {}); // `changes` reports the error
    }
  }

  /** Removes replaced files in the background. The next merge or rollback removes what an error or a death leaves. */
  #sweep(): void {
    this.#sweeping = stoppedAtExit(this.#handle, () => this.#handle.sweep()).catch(() => {});
  }

  /** True if no command runs in the transaction and no session is open. */
  #areIdle(): boolean {
    return super.isIdle() && [...this.#members].every((member) => member.isIdle());
  }

  /** Ends its own runs and those of its members; others may start. */
  async #endRuns(): Promise<void> {
    await Promise.all([super.endRuns(), ...[...this.#members].map((member) => member.endRuns())]);
  }

  /** Like {@link #endRuns}, permanently. */
  async #closeRuns(): Promise<void> {
    await Promise.all([super.close(), ...[...this.#members].map((member) => member.endRuns())]);
  }

  async #discard(): Promise<void> {
    this.#closes("discarded");
    try {
      await this.#records.of("discard", () =>
        this.#native(() =>
          this.#turns.alone(async () => {
            await this.#closeRuns();
            await this.#runs.drop();
            await this.#handle.discard();
          }),
        ),
      );
    } catch (error) {
      this.#discarded = undefined; // the caller may try again
      throw error;
    }
  }

  #closes(state: "closed" | "discarded"): void {
    if (this.#state === "open") this.#records.closed();
    if (this.#state !== "discarded") this.#state = state;
    this.#wake();
  }

  /** @throws SandboxError after it was closed or discarded */
  #expectOpen(): void {
    if (!this.#isClosed) return;
    throw new SandboxError("the transaction was closed", { code: "ERR_SANDBOX_CLOSED" });
  }

  get #isClosed(): boolean {
    return this.#state !== "open";
  }

  /** Returns the result of `work`, and converts its errors to a SandboxError. */
  async #native<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      const waits = untilAnswering(this.#workspace);
      if (waits) await waits;
      return await work();
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** The number of commands that run in it. */
  #pending(): number {
    const meters = [this.#supervised.meter, ...[...this.#members].map(({ meter }) => meter)];
    return meters.reduce((sum, meter) => sum + meter.pending, 0);
  }

  /** Resolves once no command runs, or the transaction is to be closed. */
  async #quiet(): Promise<void> {
    while (this.#pending() > 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => this.#onEnd.add(resolve));
    }
  }

  #ended(): void {
    this.#wake();
    this.#look();
    this.#space?.changed();
  }

  #wake(): void {
    for (const resolve of this.#onEnd) resolve();
    this.#onEnd.clear();
  }

  /** @throws TransactionError while a command runs. */
  #expectIdle(): void {
    const pending = this.#pending();
    if (pending === 0) return;
    const message = `${pending === 1 ? "a command runs" : `${pending} commands run`} in the transaction`;
    throw new TransactionError(message, "ERR_TRANSACTION_BUSY", []);
  }
}

/**
 * The lock of a transaction: operations that need it exclusively (such as a commit) run one at a time, and
 * calls that start after such an operation was requested wait. Calls that started before it come first.
 */

class ExclusiveLock {
  readonly #beginning: () => Promise<unknown> | undefined;
  #last: Promise<unknown> | undefined;
  #isTaken = false;

  /** @param beginning settles once the calls that are about to start have started; undefined: none are. */
  constructor(beginning: () => Promise<unknown> | undefined) {
    this.#beginning = beginning;
  }

  /** Resolves once no operation has or awaits the lock; undefined if none does. */
  asked(): Promise<void> | undefined {
    return this.#last && this.#free();
  }

  /** Like {@link asked}, if an operation has the lock now; otherwise undefined. */
  taken(): Promise<void> | undefined {
    return this.#isTaken ? this.asked() : undefined;
  }

  /** Calls `work` after all earlier requests are done. Settles like `work`. */
  async alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#after(this.#last, this.#beginning(), work);
    const last = done.then(
      () => {},
      () => {},
    );
    this.#last = last;
    try {
      return await done;
    } finally {
      if (this.#last === last) this.#last = undefined;
    }
  }

  async #after<Value>(
    before: Promise<unknown> | undefined,
    beginning: Promise<unknown> | undefined,
    work: () => Promise<Value>,
  ): Promise<Value> {
    await before;
    if (beginning) {
      await beginning.catch(() => {});
      await new Promise((resolve) => setImmediate(resolve)); // now the call has started
    }
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#isTaken = false;
    }
  }

  async #free(): Promise<void> {
    while (this.#last) await this.#last;
  }
}
