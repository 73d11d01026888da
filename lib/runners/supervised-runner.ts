import type { WorkspaceFilesOptions } from "../../types/addon-files.js";
import type { TransactionHandle } from "../../types/addon-transaction.js";
import type { WorkspaceFiles } from "../../types/files.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  NativeExecInput,
  NativeExecResult,
  NativeRunner,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import { NativeWorkspaceFiles } from "../files/workspace-files.js";
import type { Supervised } from "./supervised.js";

/** What the runners of this package have in common: they hand their calls on to the native handle. */
export abstract class SupervisedRunner implements NativeRunner {
  readonly #files: WorkspaceFiles;
  readonly #supervised: Supervised;

  protected constructor(
    supervised: Supervised,
    workspace: WorkspaceFilesOptions,
    transaction?: TransactionHandle,
  ) {
    this.#supervised = supervised;
    this.#files = new NativeWorkspaceFiles(workspace, transaction, (hasWaited) =>
      supervised.ready(hasWaited),
    );
  }

  /**
   * The workspace's files, for tools of the host itself: below the workspace, through no link, with
   * no more rights to it than commands have. They need no sandbox, and work after `close` too.
   */
  get files(): WorkspaceFiles {
    return this.#files;
  }

  /**
   * Never called: what a subclass has to return at least, whose own `exec` may promise no more than a
   * {@link NativeExecResult}.
   */
  exec(input: never): Promise<NativeExecResult>;
  /**
   * Runs one command and resolves with its outcome, whatever happens to it.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse; {@link SandboxError}
   * where a sandbox can't exist (not Linux, no binary, no usable bwrap, firejail or Landlock); what a
   * streaming callback threw.
   */
  exec<Result extends SandboxedExecResult = SandboxedExecResult>(
    input: NativeExecInput,
  ): Promise<Result>;
  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    return this.#supervised.exec(input);
  }

  /**
   * The command line and the policy of a run that is planned to the end, but not started. What only
   * the kernel can add to `layers` is not there yet.
   *
   * @throws (rejects) as `exec`; {@link SandboxError} ERR_SANDBOX_SETUP where that would resolve
   * with "setup-failed".
   */
  async explain(input: NativeExecInput): Promise<BubblewrapExplanation> {
    return this.#supervised.explain(input);
  }

  /**
   * Starts a command that is spoken with while it runs, in a sandbox or processes of its own; resolves
   * once it is started. It holds no slot of `maxConcurrent`, and has no deadline but the one it is given.
   *
   * @throws (rejects) as `exec` does. A start that fails is an outcome in `result`.
   */
  async spawn(input: NativeSpawnInput): Promise<SandboxProcess> {
    return this.#supervised.spawn(input);
  }

  /** What its runs, and its sessions' commands, were since it was made: outcomes, times, bytes, kills. */
  metrics(): RunnerMetrics {
    return this.#supervised.metrics();
  }
}
