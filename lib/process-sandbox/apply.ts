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

/** What `applyProcessSandbox` takes. */
export type ApplyProcessSandboxOptions = {
  /** Default: none, the command is started as it is. */
  sandbox?: ProcessSandbox | undefined;
  /** What the host is about to start. */
  command: ProcessSandboxCommand;
  /**
   * Whether the host paths of the command's mounts read "<redacted>" in the audit, or a list of
   * further host paths to hide with them. Default true.
   */
  redactHostPaths?: boolean | readonly string[] | undefined;
};

/** What to start, and the record of it. */
export type AppliedProcessSandbox = {
  /** What to start in its place. */
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

/** Without a sandbox, or with one of the host's own, nobody else looks at the command. */
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
 * The command as it is to be started: wrapped by `sandbox`, or itself. What a sandbox leaves out of
 * `env` and `cwd` is the command's. Starts nothing.
 *
 * @throws TypeError on misuse, and what `sandbox.wrap` throws.
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

/** Hides host paths in what is recorded. Pure. */

const kRedacted = "<redacted>";

/** As written and as normalized, without slashes at the end; "" for the root, which is no secret. */
function spellings(path: string): string[] {
  return [path, posix.normalize(path)].map((each) => each.replace(/\/+$/, ""));
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/**
 * A function that replaces each of `paths`, wherever it stands in a text, the longest first. A path
 * ends with its component: "/home/me" is hidden in "--dir=/home/me/x", and left in "/home/mexico".
 */
function redactor(paths: readonly string[]): (text: string) => string {
  const known = [...new Set(paths.flatMap(spellings))].filter((path) => path !== "");
  if (known.length === 0) return (text) => text;
  known.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(?:${known.map(escaped).join("|")})(?![\\p{L}\\p{N}_-])`, "gu");
  return (text) => text.replace(pattern, kRedacted);
}
