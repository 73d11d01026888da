import { posix } from "node:path";

import type {
  ProcessSandbox,
  ProcessSandboxCommand,
  ProcessSandboxMount,
  ProcessSandboxWrappedCommand,
  SandboxAuditRecord,
} from "../../types/process-sandbox.js";
import { invalidType } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";

/** Options of `applyProcessSandbox`. */
export type ApplyProcessSandboxOptions = {
  /** The sandbox that wraps the command. Default: none; the command is started unchanged. */
  sandbox?: ProcessSandbox | undefined;
  /** The command that the host is about to start. */
  command: ProcessSandboxCommand;
  /**
   * If true, the host paths of the command's mounts become "<redacted>" in the audit record. A list names
   * further host paths to hide with them. Default true.
   */
  redactHostPaths?: boolean | readonly string[] | undefined;
};

/** The command line to start, and its audit record. */
export type AppliedProcessSandbox = {
  /** The command line to start instead of the original. */
  spawn: ProcessSandboxWrappedCommand & { env: Record<string, string> };
  /** Absent without a sandbox. */
  audit?: SandboxAuditRecord;
};

const kOptions: FieldsOf<ApplyProcessSandboxOptions> = {
  sandbox: true,
  command: true,
  redactHostPaths: true,
};
const kCommand: FieldsOf<ProcessSandboxCommand> = {
  cmd: true,
  args: true,
  env: true,
  cwd: true,
  mounts: true,
};
const kMount: FieldsOf<ProcessSandboxMount> = {
  kind: true,
  label: true,
  hostPath: true,
  guestPath: true,
  mode: true,
};

/** Needed because without a sandbox, or with the host's own, nothing else checks the command. */
function checkCommand(command: ProcessSandboxCommand): void {
  expectFields(command, "command", kCommand);
  const { mounts } = command;
  if (!Array.isArray(mounts)) return;
  for (const [index, mount] of mounts.entries()) expectFields(mount, `mounts[${index}]`, kMount);
}

function hiddenPaths(
  redactHostPaths: ApplyProcessSandboxOptions["redactHostPaths"],
  { mounts = [] }: ProcessSandboxCommand,
): string[] {
  if (redactHostPaths === false) return [];
  const ofMounts = mounts.map(({ hostPath }) => hostPath);
  if (redactHostPaths === undefined || redactHostPaths === true) return ofMounts;
  const isList =
    Array.isArray(redactHostPaths) && redactHostPaths.every((path) => typeof path === "string");
  if (isList) return [...ofMounts, ...redactHostPaths];
  throw invalidType("redactHostPaths", "a boolean or an array of strings", redactHostPaths);
}

/**
 * Returns the command to start: wrapped by `sandbox`, or unchanged. If the sandbox omits `env` or `cwd`, the
 * command's are used. Starts nothing.
 *
 * @throws TypeError on misuse, and any error of `sandbox.wrap`.
 */
export function applyProcessSandbox(options: ApplyProcessSandboxOptions): AppliedProcessSandbox {
  expectFields(options, "options", kOptions);
  const { sandbox, command, redactHostPaths } = options;
  checkCommand(command);
  if (sandbox === undefined) return { spawn: command };
  if (typeof sandbox?.wrap !== "function") {
    throw invalidType("sandbox", "a process sandbox", sandbox);
  }
  const wrapped = sandbox.wrap(command);
  const { cmd, args, env = command.env, cwd = command.cwd } = wrapped;
  const redact = redactor(hiddenPaths(redactHostPaths, command));
  return {
    spawn: { cmd, args, env, ...(cwd === undefined ? {} : { cwd }) },
    audit: {
      kind: "process-sandbox",
      wrapperName: sandbox.name,
      wrappedCmd: redact(cmd),
      wrappedArgs: args.map(redact),
      mounts: (command.mounts ?? []).map(({ label, guestPath, mode }) => ({
        ...(label === undefined ? {} : { label }),
        guestPath,
        mode,
      })),
    },
  };
}

/** Hides host paths in records. Pure. */

const kRedacted = "<redacted>";

/**
 * Returns the path as written and normalized, without trailing slashes; "" for the root, which is not a
 * secret.
 */
function spellings(path: string): string[] {
  return [path, posix.normalize(path)].map((each) => each.replace(/\/+$/, ""));
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/**
 * Returns a function that replaces each of `paths` anywhere in a text, the longest first. A path matches
 * whole components: "/home/me" is hidden in "--dir=/home/me/x", but not in "/home/mexico".
 */
function redactor(paths: readonly string[]): (text: string) => string {
  const known = [...new Set(paths.flatMap(spellings))].filter((path) => path !== "");
  if (known.length === 0) return (text) => text;
  known.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(?:${known.map(escaped).join("|")})(?![\\p{L}\\p{N}_-])`, "gu");
  return (text) => text.replace(pattern, kRedacted);
}
