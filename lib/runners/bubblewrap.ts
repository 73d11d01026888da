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
  SandboxCaches,
  SandboxHome,
  SandboxRoot,
  SandboxTools,
  WorkspacePathMode,
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
import { copyOptions, frozenCopy } from "../fields.js";
import { HomeSource } from "../home/home-view.js";
import { checkCacheNames } from "../home/host-caches.js";
import { loadAddon } from "../native.js";
import { networkOption, withNetwork } from "../network.js";
import { completed, kAllOfBubblewrap } from "../options.js";
import { Supervised } from "./supervised.js";
import { SessionRunner } from "./supervised-runner.js";
import { extractMembership } from "./transactions/membership.js";
import { takeMaxTransactionBytes } from "./transactions/space.js";
import { Transactions } from "./transactions/transactions.js";

/** Paths that a runner mounts read-only by default; the addon's DefaultRoBinds. */
export const kDefaultRoBinds = kAllOfBubblewrap.roBinds.paths;

/**
 * Runs commands under Bubblewrap, with `shadowDir` mounted at /workspace. A command sees only the mounted
 * paths, writes only to the workspace and a private /tmp, and leaves no process behind.
 *
 * The constructor does no I/O and starts nothing; options are copied. One runner serves any number of
 * concurrent calls.
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
  /** Host paths mounted read-only, in order. Default /usr, /bin, /lib, /lib64, /etc; with a `root` none. */
  readonly roBinds: readonly string[];
  /** The root file system of commands; undefined: the host's, as `roBinds` says. */
  readonly root: SandboxRoot | undefined;
  /** Further host paths, in the order in which they are mounted. Default none. */
  readonly mounts: readonly NativeMount[];
  /** Character devices of the host that commands may use, as given. Default none. */
  readonly devices: readonly string[];
  /** The network of commands, as given. Default "deny". */
  readonly network: BubblewrapNetwork;
  /** Where commands see the workspace. Default "/workspace". */
  readonly workspacePath: WorkspacePathMode;
  /** The home of commands. Default "private". */
  readonly home: SandboxHome;
  /** The host's tools that commands find; undefined: "host" if `roBinds` and `root` were left out, else "none". */
  readonly tools: SandboxTools | undefined;
  /** The host's package caches that commands find, copy-on-write. Default "none". */
  readonly caches: SandboxCaches;
  /** The isolation mode. Default "strict". */
  readonly isolation: IsolationMode;
  /** Selects the host's variables that a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Options for bwrap, after the mounts. Default none. */
  readonly extraArgs: readonly string[];
  /** True if a minimal /dev is mounted. Default true. */
  readonly devBind: boolean;
  /** True if a private /proc is mounted. Default true. */
  readonly procBind: boolean;
  /** True if commands may write to the workspace. Default true. */
  readonly allowWriteWorkspace: boolean;
  /** Additional security layers inside the sandbox. Default none. */
  readonly layers: readonly "landlock"[];
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];
  /** Number of prewarmed sandboxes to keep; undefined: a few, depending on the runs. */
  readonly prewarm: number | undefined;
  /** Milliseconds without a run after which they and the template are removed. Default 60 000. */
  readonly prewarmIdleMs: number;
  /** Enables cloning sandboxes from a template. Default "auto". */
  readonly clone: CloneMode;
  /** Most bytes that the transactions of the workspace hold together; undefined: no bound. */
  readonly maxTransactionBytes: number | undefined;

  readonly #supervised: Supervised;
  readonly #transactions: Transactions;

  /** @throws TypeError or RangeError on an invalid option (if the native addon is present). */
  constructor(options: BubblewrapNativeRunnerOptions) {
    const own = copyOptions(options);
    if (own.home !== undefined) own.home = frozenCopy(own.home);
    if (own.tools !== undefined) own.tools = frozenCopy(own.tools);
    if (own.root !== undefined) own.root = frozenCopy(own.root);
    if (own.caches !== undefined) own.caches = frozenCopy(own.caches);
    checkCacheNames(own.caches);
    const sink = takeAuditLog(own);
    const maxTransactionBytes = takeMaxTransactionBytes(own);
    const taken = extractMembership(own);
    if (taken !== undefined) {
      own.prewarm = 0; // a commit ends prewarmed sandboxes of the transaction's own pool only
      own.clone = "never";
    }
    const asked = networkOption(own.network);
    const natively = withNetwork(own, asked.native);
    if (own.network !== undefined) own.network = asked.own;
    const supervised = new Supervised(
      (addon) => new addon.BubblewrapNativeRunner(natively, taken?.handle),
    );
    supervised.home = new HomeSource(own, taken?.home);
    supervised.secrets = asked.secrets;
    supervised.meter.recordTo(sink);
    super(
      supervised,
      {
        shadowDir: own.shadowDir,
        write: own.allowWriteWorkspace,
        workspacePath: own.workspacePath,
      },
      (addon, session, poolNumber) =>
        new addon.BubblewrapSession(natively, session, taken?.handle, poolNumber),
      taken?.handle,
    );
    this.extractMembership(taken);
    this.#supervised = supervised;
    this.#transactions = new Transactions(own, {
      counts: supervised.meter.transactions,
      sink,
      maxBytes: maxTransactionBytes,
    });
    this.shadowDir = own.shadowDir;
    const all = completed(own, kAllOfBubblewrap);
    this.bwrapPath = all.bwrapPath;
    this.roBinds = all.root === undefined ? all.roBinds : [];
    this.root = all.root;
    this.mounts = all.mounts;
    this.devices = all.devices;
    this.network = all.network;
    this.workspacePath = all.workspacePath;
    this.home = all.home;
    this.tools = all.tools;
    this.caches = all.caches;
    this.isolation = all.isolation;
    this.envPolicy = all.envPolicy;
    this.extraArgs = all.extraArgs;
    this.devBind = all.devBind;
    this.procBind = all.procBind;
    this.allowWriteWorkspace = all.allowWriteWorkspace;
    this.layers = all.layers;
    this.required = all.required;
    this.prewarm = all.prewarm;
    this.prewarmIdleMs = all.prewarmIdleMs;
    this.clone = all.clone;
    this.maxTransactionBytes = maxTransactionBytes;
  }

  /**
   * Creates the sandboxes of `prewarm` now instead of with the first run; resolves with the number that is
   * ready. Later changes of the host are noticed when a run starts: that run then gets a new sandbox.
   *
   * @throws (rejects) {@link SandboxError} if none can be created, for example if `shadowDir` is missing.
   */
  async warm(): Promise<number> {
    return this.#supervised.warm();
  }

  /** Returns the state of the prewarmed sandboxes, and how many runs they have served. */
  pool(): PoolState {
    return this.#supervised.pool();
  }

  /**
   * Opens a transaction: a runner with this one's options, whose commands work on the workspace while their
   * changes are kept separate from it. Each transaction has its own changes; any number may be open.
   *
   * @throws (rejects) TypeError on an invalid option, and for a `directory` in the workspace;
   * {@link SandboxError} ERR_SANDBOX_UNAVAILABLE, with the reason, if the `backend` is not available,
   * ERR_SANDBOX_SETUP if `directory` can't be used, ERR_SANDBOX_CLOSED after `close`.
   */
  async openTransaction(options: TransactionOptions = {}): Promise<Transaction> {
    return this.#transactions.open(options);
  }

  /**
   * Reopens a transaction of this workspace that was closed, or whose process has died. An interrupted commit
   * is rolled back or completed first: see `recovered`.
   *
   * @throws (rejects) like `openTransaction`; TypeError if no transaction has this id, and
   * {@link SandboxError} ERR_SANDBOX_SETUP if another process has it open.
   */
  async resumeTransaction(id: string, options: ResumeOptions = {}): Promise<Transaction> {
    return this.#transactions.resume(id, options);
  }

  /**
   * Lists the transactions in a directory, of this workspace and of others, oldest first: open ones, closed
   * ones, and those whose process died. Reads them on another thread, and changes nothing. Incomplete
   * transactions are skipped.
   *
   * @throws (rejects) TypeError on an invalid option; {@link SandboxError} ERR_SANDBOX_SETUP if `directory`
   * belongs to another user, or others may write to it, ERR_SANDBOX_CLOSED after `close`.
   */
  async transactions(options: ListTransactionsOptions = {}): Promise<ListedTransaction[]> {
    return this.#transactions.list(options);
  }

  /**
   * Aborts running commands, ends sessions and prewarmed sandboxes, closes transactions, which stay on disk,
   * and resolves when all their processes are known to be gone. Later runs reject with ERR_SANDBOX_CLOSED.
   * Calling it is optional: a runner that is no longer referenced, or whose process ends, leaves no process
   * behind either.
   */
  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#transactions.close()]);
  }
}

/**
 * Returns the plain Bubblewrap command line for a command: pure and deterministic, nothing is looked up.
 * `args` holds the options, "--", and the command unchanged; `cmd` is `bwrapPath`. See bwrap(1).
 *
 * @throws TypeError on an invalid value, including a `cwd` that leaves the workspace.
 * @throws SandboxError if the native addon is missing.
 */
export function buildBubblewrapArgv(options: BubblewrapArgvOptions): BubblewrapCommand {
  const addon = loadAddon();
  try {
    return addon.buildBubblewrapArgv(options);
  } catch (error) {
    throw fromNative(error);
  }
}
