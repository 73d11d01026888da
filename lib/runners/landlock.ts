import type {
  EnvironmentPolicy,
  LandlockNativeRunnerOptions,
  NetworkMode,
} from "../../types/public.js";
import { takeAuditLog } from "../audit-log/sink.js";
import { copyOptions } from "../fields.js";
import { Supervised } from "./supervised.js";
import { SessionRunner } from "./supervised-runner.js";
import { extractMembership } from "./transactions/membership.js";

/** What a command may read when nothing is named; the addon's DefaultReadDirs. */
export const kDefaultReadDirs: readonly string[] = Object.freeze([
  "/usr",
  "/lib",
  "/lib64",
  "/etc",
  "/bin",
  "/sbin",
  "/tmp",
]);

/** What a command may write when nothing is named; the addon's DefaultWriteDirs. */
export const kDefaultWriteDirs: readonly string[] = Object.freeze(["/tmp"]);

/**
 * Runs commands under Landlock, in `shadowDir` at its host path: no program but our own is needed.
 * A command reads and writes what is listed, and leaves no process behind. The audit's `layers` tell
 * what this kernel really enforced.
 *
 * Making one does no I/O and starts nothing; options are copied.
 */
export class LandlockNativeRunner extends SessionRunner {
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** Host paths that may be read, besides the workspace. */
  readonly fsReadDirs: readonly string[];
  /** Host paths that may be written, besides the workspace. */
  readonly fsWriteDirs: readonly string[];
  /** Default true. */
  readonly allowReadWorkspace: boolean;
  /** Default true. */
  readonly allowWriteWorkspace: boolean;
  /** Default "deny". */
  readonly network: NetworkMode;
  /** Which host variables a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];

  /** @throws TypeError or RangeError on a wrong option (where the native addon is present). */
  constructor(options: LandlockNativeRunnerOptions) {
    const own = copyOptions(options);
    const sink = takeAuditLog(own);
    const taken = extractMembership(own);
    const supervised = new Supervised(
      (addon) => new addon.LandlockNativeRunner(own, taken?.handle),
    );
    supervised.meter.recordTo(sink);
    super(
      supervised,
      {
        shadowDir: own.shadowDir,
        read: own.allowReadWorkspace,
        write: own.allowWriteWorkspace,
      },
      (addon, session) => new addon.LandlockSession(own, session, taken?.handle),
      taken?.handle,
    );
    this.extractMembership(taken);
    this.shadowDir = own.shadowDir;
    const { fsReadDirs = kDefaultReadDirs, fsWriteDirs = kDefaultWriteDirs } = own;
    const { allowReadWorkspace = true, allowWriteWorkspace = true } = own;
    const { network = "deny", envPolicy = "scrub", required = Object.freeze([]) } = own;
    this.fsReadDirs = fsReadDirs;
    this.fsWriteDirs = fsWriteDirs;
    this.allowReadWorkspace = allowReadWorkspace;
    this.allowWriteWorkspace = allowWriteWorkspace;
    this.network = network;
    this.envPolicy = envPolicy;
    this.required = required;
  }
}
