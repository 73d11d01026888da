import type {
  EnvironmentPolicy,
  LandlockNativeRunnerOptions,
  NetworkMode,
  SandboxHome,
  SandboxTools,
} from "../../types/public.js";
import { takeAuditLog } from "../audit-log/sink.js";
import { copyOptions, frozenCopy } from "../fields.js";
import { HomeSource, homeOptionsOfLandlock } from "../home/home-view.js";
import { completed, kConfining, kEveryRunner, kLandlock } from "../options.js";
import { Supervised } from "./supervised.js";
import { SessionRunner } from "./supervised-runner.js";
import { extractMembership } from "./transactions/membership.js";

/** Paths that a command may read by default; the addon's DefaultReadDirs. */
export const kDefaultReadDirs = kLandlock.fsReadDirs.paths;

/** Paths that a command may write by default; the addon's DefaultWriteDirs. */
export const kDefaultWriteDirs = kLandlock.fsWriteDirs.paths;

const kOptions = { ...kEveryRunner, ...kConfining, ...kLandlock };

/**
 * Runs commands under Landlock, in `shadowDir` at its host path; needs no program besides our own. A command
 * can read and write only the listed paths, and leaves no process behind. The `layers` of the audit record
 * list what this kernel enforced.
 *
 * The constructor does no I/O and starts nothing; options are copied.
 */
export class LandlockNativeRunner extends SessionRunner {
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** Host paths that commands may read, besides the workspace. */
  readonly fsReadDirs: readonly string[];
  /** Host paths that commands may write, besides the workspace. */
  readonly fsWriteDirs: readonly string[];
  /** True if commands may read the workspace. Default true. */
  readonly allowReadWorkspace: boolean;
  /** True if commands may write to the workspace. Default true. */
  readonly allowWriteWorkspace: boolean;
  /** Character devices of the host that commands may use, as given. Default none. */
  readonly devices: readonly string[];
  /** The network of commands. Default "deny". */
  readonly network: NetworkMode;
  /** Selects the host's variables that a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];
  /** The home of commands. Default "private". */
  readonly home: SandboxHome;
  /** The host's tools that commands may read; undefined: "host" if `fsReadDirs` was left out, else "none". */
  readonly tools: SandboxTools | undefined;

  /** @throws TypeError or RangeError on an invalid option (if the native addon is present). */
  constructor(options: LandlockNativeRunnerOptions) {
    const own = copyOptions(options);
    if (own.home !== undefined) own.home = frozenCopy(own.home);
    if (own.tools !== undefined) own.tools = frozenCopy(own.tools);
    const sink = takeAuditLog(own);
    const taken = extractMembership(own);
    const supervised = new Supervised(
      (addon) => new addon.LandlockNativeRunner(own, taken?.handle),
    );
    const { home, tools, fsReadDirs } = own;
    const showsTools = (tools ?? (fsReadDirs === undefined ? "host" : "none")) !== "none";
    if (home !== "none" || showsTools) {
      supervised.home = new HomeSource(homeOptionsOfLandlock(own), taken?.home);
    }
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
    const all = completed(own, kOptions);
    this.fsReadDirs = all.fsReadDirs;
    this.fsWriteDirs = all.fsWriteDirs;
    this.allowReadWorkspace = all.allowReadWorkspace;
    this.allowWriteWorkspace = all.allowWriteWorkspace;
    this.devices = all.devices;
    this.network = all.network;
    this.envPolicy = all.envPolicy;
    this.required = all.required;
    this.home = all.home;
    this.tools = all.tools;
  }
}
