import type {
  BubblewrapArgvOptions,
  BubblewrapCommand,
  BubblewrapNativeRunnerOptions,
  BubblewrapNetwork,
  CloneMode,
  EnvironmentPolicy,
  IsolationMode,
  NativeMount,
  PoolState,
} from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import type {
  ListedTransaction,
  ListTransactionsOptions,
  ResumeOptions,
  TransactionOptions,
} from "../../types/transaction-options.js";
import { takeAuditLog } from "../audit-log/sink.js";
import { fromNative } from "../errors.js";
import { copyOptions } from "../fields.js";
import { loadAddon } from "../native.js";
import { networkOption, withNetwork } from "../network.js";
import { Supervised } from "./supervised.js";
import { SessionRunner } from "./supervised-runner.js";
import { extractMembership } from "./transactions/membership.js";
import { Transactions } from "./transactions/transactions.js";

/** What a runner mounts read-only when it is not told; the addon's DefaultRoBinds. */
export const kDefaultRoBinds: readonly string[] = Object.freeze([
  "/usr",
  "/bin",
  "/lib",
  "/lib64",
  "/etc",
]);

const kNone: readonly never[] = Object.freeze([]);

/**
 * Runs commands under Bubblewrap, with `shadowDir` mounted at /workspace. A command sees what is
 * mounted, writes to the workspace and a private /tmp only, and leaves no process behind.
 *
 * Making one does no I/O and starts nothing; options are copied. One runner serves any number of
 * calls at once.
 *
 * @example
 * const runner = new BubblewrapNativeRunner({ shadowDir: "/srv/work/42" });
 * const result = await runner.exec({ argv: ["bash", "-lc", "make test"] });
 */
export class BubblewrapNativeRunner extends SessionRunner {
  /** The bwrap program, as given. Default "bwrap". */
  readonly bwrapPath: string;
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** Host paths mounted read-only, in order. Default /usr, /bin, /lib, /lib64, /etc. */
  readonly roBinds: readonly string[];
  /** Further host paths, in the order in which they are mounted. Default none. */
  readonly mounts: readonly NativeMount[];
  /** What commands may reach, as it was given. Default "deny". */
  readonly network: BubblewrapNetwork;
  /** Default "strict". */
  readonly isolation: IsolationMode;
  /** Which host variables a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Options for bwrap, after the mounts. Default none. */
  readonly extraArgs: readonly string[];
  /** Whether a minimal /dev is mounted. Default true. */
  readonly devBind: boolean;
  /** Whether a private /proc is mounted. Default true. */
  readonly procBind: boolean;
  /** Whether the workspace may be written. Default true. */
  readonly allowWriteWorkspace: boolean;
  /** Further walls inside the sandbox. Default none. */
  readonly layers: readonly "landlock"[];
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];
  /** Sandboxes to keep standing; undefined: a few, as runs come. */
  readonly prewarm: number | undefined;
  /** Milliseconds without a run after which they go away, and the template. Default 60 000. */
  readonly prewarmIdleMs: number;
  /** Whether sandboxes are cloned from a template. Default "auto". */
  readonly clone: CloneMode;

  readonly #supervised: Supervised;
  readonly #transactions: Transactions;

  /** @throws TypeError or RangeError on a wrong option (where the native addon is present). */
  constructor(options: BubblewrapNativeRunnerOptions) {
    const own = copyOptions(options);
    const sink = takeAuditLog(own);
    const taken = extractMembership(own);
    if (taken !== undefined) {
      own.prewarm = 0; // a commit ends what stands in the transaction's own pool alone
      own.clone = "never";
    }
    const asked = networkOption(own.network);
    const natively = withNetwork(own, asked.native);
    if (own.network !== undefined) own.network = asked.own;
    const supervised = new Supervised(
      (addon) => new addon.BubblewrapNativeRunner(natively, taken?.handle),
    );
    supervised.meter.recordTo(sink);
    super(
      supervised,
      { shadowDir: own.shadowDir, write: own.allowWriteWorkspace },
      (addon, session, poolNumber) =>
        new addon.BubblewrapSession(natively, session, taken?.handle, poolNumber),
      taken?.handle,
    );
    this.extractMembership(taken);
    this.#supervised = supervised;
    this.#transactions = new Transactions(own, { counts: supervised.meter.transactions, sink });
    this.shadowDir = own.shadowDir;
    const { bwrapPath = "bwrap", roBinds = kDefaultRoBinds, mounts = kNone } = own;
    const { network = "deny" } = own;
    const { isolation = "strict", envPolicy = "scrub" } = own;
    const { devBind = true, procBind = true, allowWriteWorkspace = true } = own;
    const { extraArgs = kNone, layers = kNone, required = kNone } = own;
    this.bwrapPath = bwrapPath;
    this.roBinds = roBinds;
    this.mounts = mounts;
    this.network = network;
    this.isolation = isolation;
    this.envPolicy = envPolicy;
    this.extraArgs = extraArgs;
    this.devBind = devBind;
    this.procBind = procBind;
    this.allowWriteWorkspace = allowWriteWorkspace;
    this.layers = layers;
    this.required = required;
    this.prewarm = own.prewarm;
    this.prewarmIdleMs = own.prewarmIdleMs ?? 60_000;
    this.clone = own.clone ?? "auto";
  }

  /**
   * Makes the sandboxes of `prewarm` now instead of with the first run; resolves with how many
   * stand. What changes on the host afterwards is noticed when a run comes: then it gets a new one.
   *
   * @throws (rejects) {@link SandboxError} when none can be made, as where `shadowDir` is missing.
   */
  async warm(): Promise<number> {
    return this.#supervised.warm();
  }

  /** The standing sandboxes, and how many runs they have served. */
  pool(): PoolState {
    return this.#supervised.pool();
  }

  /**
   * Opens a transaction: a runner with this one's options, whose commands work on the workspace while
   * what they change is kept apart from it. Each has its own changes; any number may be open.
   *
   * @throws (rejects) TypeError on a wrong option, and for a `directory` in the workspace;
   * {@link SandboxError} ERR_SANDBOX_UNAVAILABLE, with the reason, where the `backend` can't be had,
   * ERR_SANDBOX_SETUP where `directory` can't be used, ERR_SANDBOX_CLOSED after `close`.
   */
  async openTransaction(options: TransactionOptions = {}): Promise<Transaction> {
    return this.#transactions.open(options);
  }

  /**
   * Takes up a transaction of this workspace that was closed, or whose process has died. What that has
   * left of a commit is taken back or completed first: see `recovered`.
   *
   * @throws (rejects) as `openTransaction`; TypeError where there is no transaction of this id, and
   * {@link SandboxError} ERR_SANDBOX_SETUP where another process has it open.
   */
  async resumeTransaction(id: string, options: ResumeOptions = {}): Promise<Transaction> {
    return this.#transactions.resume(id, options);
  }

  /**
   * The transactions that lie in a directory, of this workspace and of others, the oldest first: those
   * that are open, that were closed, and that a process has left by dying. Looks at them on another
   * thread, and changes nothing. What is no whole transaction is passed over.
   *
   * @throws (rejects) TypeError on a wrong option; {@link SandboxError} ERR_SANDBOX_SETUP where
   * `directory` is another user's, or others may write to it, ERR_SANDBOX_CLOSED after `close`.
   */
  async transactions(options: ListTransactionsOptions = {}): Promise<ListedTransaction[]> {
    return this.#transactions.list(options);
  }

  /**
   * Aborts the runs that are under way, ends sessions and standing sandboxes, closes transactions, which
   * stay on disk, and resolves when all their processes are known to be gone. Later runs reject with
   * ERR_SANDBOX_CLOSED. Not a must: a runner that is no longer referenced, or whose process ends, leaves
   * no process behind either.
   */
  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#transactions.close()]);
  }
}

/**
 * The plain Bubblewrap command line for a command: pure and deterministic, nothing is looked up.
 * `args` holds the options, "--", and the command unchanged; `cmd` is `bwrapPath`. See bwrap(1).
 *
 * @throws TypeError on a wrong value, also on a `cwd` that leaves the workspace.
 * @throws SandboxError where the native addon is missing.
 */
export function buildBubblewrapArgv(options: BubblewrapArgvOptions): BubblewrapCommand {
  const addon = loadAddon();
  try {
    return addon.buildBubblewrapArgv(options);
  } catch (error) {
    throw fromNative(error);
  }
}
