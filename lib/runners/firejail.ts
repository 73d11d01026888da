import type {
  EnvironmentPolicy,
  FirejailNativeRunnerOptions,
  NetworkMode,
} from "../../types/public.js";
import { takeAuditLog } from "../audit-log/sink.js";
import { copyOptions } from "../fields.js";
import { completed, kConfining, kEveryRunner, kFirejail } from "../options.js";
import { Supervised } from "./supervised.js";
import { SupervisedRunner } from "./supervised-runner.js";

/** Paths that a command may read by default; the addon's DefaultFirejailReadDirs. */
export const kDefaultFirejailReadDirs = kFirejail.fsReadDirs.paths;

const kOptions = { ...kEveryRunner, ...kConfining, ...kFirejail };

/**
 * Runs commands under Firejail, in `shadowDir` at its host path: they can read the listed paths, and write to
 * the workspace and a private /tmp. If nested, Firejail would run a command unconfined, so each run proves
 * its layers from the inside or ends as "setup-failed".
 *
 * The constructor does no I/O and starts nothing; options are copied.
 */
export class FirejailNativeRunner extends SupervisedRunner {
  /** The firejail program, as given. Default "firejail". */
  readonly firejailPath: string;
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** The profile file; undefined means --noprofile. */
  readonly profile: string | undefined;
  /** Host paths that commands may read, besides the workspace. */
  readonly fsReadDirs: readonly string[];
  /** Host paths that commands may write, besides the workspace. Default none. */
  readonly fsWriteDirs: readonly string[];
  /** Options for firejail. Default none. */
  readonly extraArgs: readonly string[];
  /** The network of commands. Default "deny". */
  readonly network: NetworkMode;
  /** Selects the host's variables that a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];

  /** @throws TypeError or RangeError on an invalid option (if the native addon is present). */
  constructor(options: FirejailNativeRunnerOptions) {
    const own = copyOptions(options);
    const sink = takeAuditLog(own);
    const supervised = new Supervised((addon) => new addon.FirejailNativeRunner(own));
    supervised.meter.recordTo(sink);
    super(supervised, { shadowDir: own.shadowDir });
    this.shadowDir = own.shadowDir;
    const all = completed(own, kOptions);
    this.firejailPath = all.firejailPath;
    this.profile = all.profile;
    this.fsReadDirs = all.fsReadDirs;
    this.fsWriteDirs = all.fsWriteDirs;
    this.extraArgs = all.extraArgs;
    this.network = all.network;
    this.envPolicy = all.envPolicy;
    this.required = all.required;
  }
}
