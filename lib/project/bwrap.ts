import { statSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";

import type { ProjectRunnerOptions } from "../../types/addon.js";
import type { AuditLogTarget } from "../../types/audit-log.js";
import type { BubblewrapNetwork, EnvironmentPolicy, NativeLimits } from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import type { TransactionOptions } from "../../types/transaction-options.js";
import { answeringRealPath, realPathIfAnswering } from "../answering-path.js";
import { type AuditSink, takeAuditLog } from "../audit-log/sink.js";
import { invalidState, invalidType, invalidValue, SandboxError } from "../errors.js";
import { copyOptions, expectFields, type FieldsOf } from "../fields.js";
import { networkOption } from "../network.js";
import {
  defaultSecrets,
  homeDirectory,
  homes,
  kProtectedNames,
  kReadOnlyOfHome,
} from "../protected-paths.js";
import type { Supervised } from "../runners/supervised.js";
import type { RunnerSecrets } from "../secrets/runner-secrets.js";
import { outputText } from "./output-text.js";
import { ProjectTransaction, projectRunner, workingRunner } from "./project-runner.js";

/** Variables that name a directory for temporary files. */
const kTemporary: readonly string[] = ["TEMP", "TEMPDIR", "TMP", "TMPDIR"];

const kOutputBytes = 64 * 1024;
const kTimeoutMs = 60_000;

/** Options of a {@link Bwrap} besides its folders. */
export type BwrapOptions = {
  /** The bwrap program: a name looked up on the host's PATH, or an absolute path. Default "bwrap". */
  bwrapPath?: string | undefined;
  /**
   * Absolute paths that commands can't read, even where the root or a folder shows them. Default: keys,
   * tokens, cookies and histories below the home directory. A list replaces the default. If the kernel has
   * Landlock, commands also can't read a replacement that the host puts at such a path while a command runs,
   * nor other entries that the host creates beside it, until the next command; inside a folder they can read
   * the latter.
   */
  secrets?: readonly string[] | undefined;
  /**
   * Paths relative to each folder that commands can neither change nor create. Default: files that git, a
   * shell, an editor or a package manager runs on its own. A list replaces the default. A name that begins
   * with ".git/" applies to every directory in which git keeps the repository: for all its worktrees,
   * submodules, and a folder that is a bare repository.
   */
  readOnly?: readonly string[] | undefined;
  /**
   * The user's home, as HOME names it when the Bwrap is made. Default "copy-on-write": commands can write there, and
   * what they write is in memory and gone with the command; where Linux or bwrap can't do that, it is as
   * "read-only". With "read-only", commands also can't read what the host makes beside a secret meanwhile.
   */
  home?: "copy-on-write" | "read-only" | undefined;
  /** Selects the host's variables that a command gets. Default "scrub". */
  envPolicy?: EnvironmentPolicy | undefined;
  /**
   * Replaces `allowNetwork`, which must then be omitted: the host's network, none, or the hosts that commands
   * may reach by name.
   */
  network?: BubblewrapNetwork | undefined;
  /** Limits as for a run; `maxStdoutBytes` and `maxStderrBytes` default to 64 KiB each. */
  limits?: Omit<NativeLimits, "timeoutMs" | "keep"> | undefined;
  /**
   * If set, commands work in a transaction of the project: their changes reach the project when
   * {@link Bwrap.transaction} is committed. The commit refuses changes to paths that `readOnly` names; commands may
   * change them in the transaction. An object holds its options. Not allowed with additional folders, whose
   * files would change at once. Default false.
   */
  transaction?: boolean | TransactionOptions | undefined;
  /** Records all runs and all actions on a transaction. Default: no log. */
  auditLog?: AuditLogTarget | undefined;
  /** Milliseconds until a command is ended, > 0. Default 60 000; `Infinity` = no deadline. */
  timeoutMs?: number | undefined;
};

/** Options of one command. */
export type BwrapExecOptions = {
  /** Ends the command when aborted. */
  signal?: AbortSignal | undefined;
};

const kOptions: FieldsOf<BwrapOptions> = {
  bwrapPath: true,
  secrets: true,
  readOnly: true,
  home: true,
  envPolicy: true,
  network: true,
  limits: true,
  transaction: true,
  auditLog: true,
  timeoutMs: true,
};
const kLimits: FieldsOf<NonNullable<BwrapOptions["limits"]>> = {
  maxStdoutBytes: true,
  maxStderrBytes: true,
  memoryBytes: true,
  cpuSeconds: true,
  maxProcesses: true,
  maxOpenFiles: true,
  maxFileBytes: true,
  cpuShare: true,
  ioShare: true,
  writeBytes: true,
  reserveBytes: true,
};
const kExecOptions: FieldsOf<BwrapExecOptions> = { signal: true };

/** Returns undefined for no transaction. */
function transactionOptions(
  transaction: BwrapOptions["transaction"],
): TransactionOptions | undefined {
  if (transaction === undefined || transaction === false) return undefined;
  if (transaction === true) return {};
  if (typeof transaction === "object" && transaction !== null) return copyOptions(transaction);
  throw invalidType("transaction", "a boolean or the options of a transaction", transaction);
}

/**
 * The home to show copy-on-write; undefined for none, or if HOME names none that could be.
 * @throws TypeError for a value that the option does not have.
 */
function ownHome(option: BwrapOptions["home"] = "copy-on-write"): string | undefined {
  if (option !== "copy-on-write" && option !== "read-only") {
    const expected = 'Expected `home` to be "copy-on-write" or "read-only"';
    throw invalidValue(`${expected}, got ${JSON.stringify(option)}`);
  }
  if (option === "read-only") return undefined;
  const home = homeDirectory();
  const real = isAbsolute(home) ? realPathIfAnswering(home) : "/";
  return real === "/" ? undefined : resolve(real);
}

/** @throws TypeError if the two options contradict each other. */
function chosenNetwork(allowNetwork: unknown, network: BubblewrapNetwork | undefined) {
  if (typeof allowNetwork !== "boolean") {
    throw invalidType("allowNetwork", "a boolean", allowNetwork);
  }
  if (network === undefined) return networkOption(allowNetwork ? "allow" : "deny");
  if (allowNetwork && network !== "allow") {
    throw invalidValue("Expected `allowNetwork` to be false with `network`, got true");
  }
  return networkOption(network);
}

/**
 * Runs a model's shell commands over the folders of a project: takes a command line and returns text.
 *
 * The host's root is read-only and without the secrets; /tmp, /var/tmp and /run are empty and private. The
 * project and the additional folders are writable at their own paths, except files that are run
 * automatically. The network is denied unless allowed. Everything else is like `BubblewrapNativeRunner`.
 *
 * While a command runs, each path of `readOnly` that does not exist is represented in its folder by an empty
 * directory, or a small file where programs read a file, since Linux can only protect existing paths; it is
 * removed when `exec` settles.
 *
 * @example
 * const bwrap = new Bwrap("/home/me/project");
 * const text = await bwrap.exec("make test");
 */
export class Bwrap {
  /** The project's real path, in which commands start. */
  readonly project: string;
  /** The real paths that are writable. */
  readonly folders: readonly string[];
  /** True if commands have the host's network. Default false. */
  readonly allowNetwork: boolean;

  readonly #native: ProjectRunnerOptions;
  readonly #limits: NativeLimits;
  readonly #timeoutMs: number;
  readonly #transaction: ProjectTransaction | undefined;
  readonly #sink: AuditSink | undefined;
  readonly #secrets: RunnerSecrets | undefined;
  #runner: Promise<Supervised> | undefined;

  /**
   * Checks the folders; starts nothing.
   *
   * @param project absolute; must exist.
   * @param additionalFolders further folders to share, absolute; must exist. Links are resolved, and
   * duplicates and folders inside others are merged.
   * @param allowNetwork gives commands the host's network instead of none; see also the option `network`.
   * @throws TypeError naming the invalid argument; Error ERR_SANDBOX_SETUP with `fix`, after two seconds, naming
   * a folder whose file system does not answer.
   */
  constructor(
    project: BwrapFolder,
    additionalFolders: readonly BwrapFolder[] | null = [],
    allowNetwork = false,
    options: BwrapOptions = {},
  ) {
    expectFields(options, "options", kOptions);
    const own = copyOptions(options);
    this.#sink = takeAuditLog(own);
    if (own.limits !== undefined) expectFields(own.limits, "limits", kLimits);
    const additional = additionalFolders ?? [];
    if (!Array.isArray(additional)) {
      throw invalidType("additionalFolders", "an array of folders", additionalFolders);
    }
    const folders: ProjectFolders = projectFolders(project, additional);
    [this.project] = folders.projects;
    this.folders = Object.freeze(folders.bound);
    const network = chosenNetwork(allowNetwork, own.network);
    this.allowNetwork = network.own === "allow";
    this.#secrets = network.secrets;
    this.#native = {
      bwrapPath: own.bwrapPath,
      folders: folders.bound,
      projects: folders.projects,
      secrets: own.secrets ?? defaultSecrets(realPathIfAnswering),
      readOnly: own.readOnly ?? defaultReadOnly(folders.projects),
      network: network.native,
      envPolicy: own.envPolicy,
      home: ownHome(own.home),
    };
    projectRunner(this.#native); // reports errors now, not at the first command
    const transaction = transactionOptions(own.transaction);
    if (transaction !== undefined && folders.projects.length > 1) {
      throw invalidValue(
        "Expected `additionalFolders` to name none with `transaction`: commands would change them at once",
      );
    }
    this.#transaction =
      transaction && new ProjectTransaction(this.#native, network.own, transaction, this.#sink);
    this.#timeoutMs = own.timeoutMs ?? kTimeoutMs;
    this.#limits = {
      maxStdoutBytes: kOutputBytes,
      maxStderrBytes: kOutputBytes,
      ...own.limits,
      timeoutMs: this.#timeoutMs,
      keep: "head+tail",
    };
  }

  /**
   * Runs `/bin/sh -c command` in the project, and resolves with its standard output, then its standard error,
   * then its exit code if it is not 0. A stream longer than its limit is cut in the middle, with a line that
   * tells how much was omitted.
   *
   * @throws (rejects) TypeError on misuse; {@link SandboxError} with `fix` if no sandbox can be created, so
   * that the command never ran.
   */
  async exec(command: string, options: BwrapExecOptions = {}): Promise<string> {
    expectFields(options, "options", kExecOptions);
    if (typeof command !== "string") throw invalidType("command", "a string", command);
    if (command.includes("\0")) {
      throw invalidValue("Expected `command` to be a string without NUL bytes");
    }
    const { signal } = options;
    const runner = await (this.#transaction?.runner() ?? this.#ownRunner());
    const stop = endAtExit(runner);
    const input = {
      argv: ["/bin/sh", "-c", "--", command], // "--": a command may begin with a dash
      env: this.#temporary(),
      limits: this.#limits,
      signal,
    };
    const result = await runner.exec(input).finally(stop);
    if (result.outcome.kind === "setup-failed") {
      const { reason, fix } = result.outcome;
      throw new SandboxError(reason, { code: "ERR_SANDBOX_SETUP", fix });
    }
    return outputText(result, this.#timeoutMs);
  }

  /**
   * Returns the transaction that commands work in, and opens it if there was none yet. Its `commit`,
   * `discard`, `undo`, `changes`, `diff` and `files` cover everything that `exec` has done; its own `exec`
   * runs commands like a `BubblewrapNativeRunner`, with the project at /workspace. After it is discarded, the
   * next command gets a new one. Call this again after a commit.
   *
   * @throws (rejects) Error ERR_INVALID_STATE for a Bwrap without the option `transaction`; like
   * `openTransaction` if none can be opened.
   */
  async transaction(): Promise<Transaction> {
    if (this.#transaction !== undefined) return this.#transaction.current();
    throw invalidState("this Bwrap has no transaction: make it with { transaction: true }");
  }

  /** The host's directory for temporary files is hidden or can't be written: commands have the private /tmp instead. */
  #temporary(): Record<string, string> {
    const { envPolicy = "scrub" } = this.#native;
    const passes = (name: string) => !Array.isArray(envPolicy) || envPolicy.includes(name);
    const isOut = (value: string) =>
      isAbsolute(value) && !this.folders.some((each) => isInside(resolve(value), each));
    const replaced = kTemporary.filter((name) => {
      const value = process.env[name] ?? "";
      return envPolicy !== "clean" && passes(name) && isOut(value);
    });
    return Object.fromEntries(replaced.map((name) => [name, "/tmp"]));
  }

  #ownRunner(): Promise<Supervised> {
    this.#runner ??= this.#makeRunner().catch((error) => {
      this.#runner = undefined; // bwrap may be installed before the next call
      throw error;
    });
    return this.#runner;
  }

  async #makeRunner(): Promise<Supervised> {
    const runner = await workingRunner(this.#native);
    runner.secrets = this.#secrets;
    runner.meter.recordTo(this.#sink);
    return runner;
  }
}

/** Resolves the folders of a project to bind: real paths, none inside another. */

/** A folder: an absolute path, or an object that has one. */
export type BwrapFolder = string | { readonly path: string };

function pathOf(folder: BwrapFolder, field: string): string {
  const isObject = typeof folder === "object" && folder !== null;
  if (isObject) expectFields(folder, field, { path: true });
  const path = isObject ? folder.path : folder;
  if (typeof path !== "string") throw invalidType(field, "an absolute path", folder);
  if (!isAbsolute(path) || path.includes("\0")) {
    throw invalidValue(`Expected \`${field}\` to be an absolute path, got ${JSON.stringify(path)}`);
  }
  return path;
}

function realFolder(folder: BwrapFolder, field: string): string {
  const path = pathOf(folder, field);
  let reason = "it is a file";
  try {
    const real = answeringRealPath(path);
    if (statSync(real).isDirectory()) return real;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SANDBOX_SETUP")
      throw error;
    reason = error instanceof Error ? error.message : String(error);
  }
  throw invalidValue(
    `Expected \`${field}\` to be a folder that exists, got ${JSON.stringify(path)}: ${reason}`,
  );
}

const isInside = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/** The folders to bind, and those in which commands start. */
type ProjectFolders = {
  /** The real path of each folder, the project first. */
  projects: [string, ...string[]];
  /** The folders that are bound: those that are not inside another. */
  bound: string[];
};

/**
 * Resolves links, and merges duplicates and folders inside others.
 * @throws TypeError naming a folder that is not absolute or does not exist.
 */
export function projectFolders(
  project: BwrapFolder,
  additional: readonly BwrapFolder[],
): ProjectFolders {
  const root = realFolder(project, "project");
  const others = new Set(
    additional.map((folder, index) => realFolder(folder, `additionalFolders[${index}]`)),
  );
  others.delete(root);
  const projects: [string, ...string[]] = [root, ...others];
  const bound = projects.filter(
    (path) => !projects.some((other) => other !== path && isInside(path, other)),
  );
  return { projects, bound };
}

/** Paths that a project's commands must not write although the project is writable. */

/** Returns the paths to protect in each of these projects (real paths). */
function defaultReadOnly(projects: readonly string[]): string[] {
  const shared = homes(realPathIfAnswering).flatMap((home) =>
    projects
      .map((project) => relative(project, home))
      .filter((inside) => inside !== ".." && !inside.startsWith("../")),
  );
  const ofHomes = shared.flatMap((inside) => kReadOnlyOfHome.map((path) => join(inside, path)));
  return [...new Set([...kProtectedNames, ...ofHomes])];
}

/** Ends project commands before this process exits, so that none of their placeholders remain. */

const running = new Set<{ runner: Supervised }>();

function endAll(): void {
  for (const { runner } of running) runner.endNow();
}

/** Ends `runner` when the process exits by itself, until the returned function is called. */
function endAtExit(runner: Supervised): () => void {
  if (running.size === 0) process.on("exit", endAll);
  const entry = { runner };
  running.add(entry);
  return () => {
    running.delete(entry);
    if (running.size === 0) process.off("exit", endAll);
  };
}
