/** Messages of the library in the words of the command line. */

import { kRunLimitOptions } from "../denials/limit-options.js";

/** The options that set a limit, by the limit's name. */
export const kLimitOptions: Readonly<Record<string, string>> = {
  timeoutMs: "--timeout",
  ...kRunLimitOptions,
  maxStdoutBytes: "--max-output",
  maxStderrBytes: "--max-output",
  maxFuel: "--fuel",
  maxMemoryBytes: "--memory",
  maxDurationMs: "--timeout",
  maxOutputBytes: "--max-output",
};

/** Whole phrases: a configuration file has some of the same names, and there they are the right ones. */
const kPhrases: readonly (readonly [RegExp, string])[] = [
  [/\b(?:Local)?NativeRunner(?:\.exec)?: cwd must/g, "--cwd must"],
  [/\bNativeRunner\.exec: argv\[0\] is required/g, "the command is empty"],
  [/\bshadowDir must be a directory when a run starts, got/g, "--workspace is no directory:"],
  [/create the directory before calling exec/g, "create it, or name another with --workspace"],
  [/\broBinds names/g, "the read-only mounts name"],
  [/\bmounts\[\d+\]\.hostPath(?= names| \()/g, "a mount"],
  [/\bmounts\[\d+\]\.guestPath(?= ")/g, "a mount at"],
  [/^Expected `mounts\[\d+\]\.hostPath`/g, "Expected the host path of --mount"],
  [/^Expected `mounts\[\d+\]\.guestPath` to be another than .*, got/g, "Expected one --mount for"],
  [
    /^Expected `mounts\[\d+\]\.guestPath` to be a path that does not hide `mounts.*, got/g,
    "Expected --mount to hide no earlier one, got",
  ],
  [/^Expected `mounts\[\d+\]\.guestPath`/g, "Expected the guest path of --mount"],
  [/^Expected `mounts` to be/g, "Expected --mount to name"],
  [/remove it from mounts\b/g, "leave it out"],
  [/\bmount it with mode "ro"/g, "mount it read-only"],
  [/^Expected `network\.allow\[\d+\]`/g, "Expected --allow-host"],
  [/\bfsReadDirs names/g, "the readable directories name"],
  [/\bfsWriteDirs names/g, "the writable directories name"],
  [/remove it from (?:roBinds|fsReadDirs|fsWriteDirs)\b/g, "leave it out"],
  [/\bits absolute path in bwrapPath\b/g, "its absolute path with --bwrap"],
  [/\bits absolute path in firejailPath\b/g, "its absolute path in the configuration"],
  [/^Expected `bwrapPath`/g, "Expected --bwrap"],
  [/^Expected `cwd`/g, "Expected --cwd"],
  [/^Expected `env\.([^`]*)`/g, "Expected --env $1"],
  [/^Expected `env`/g, "Expected the name of --env"],
  [/^Expected `envPolicy(?:\[\d+\])?`/g, "Expected --env-policy"],
  [/^`wasmPath` can't be used: /g, "the skill can't be used: "],
  [/\bleave out strictLimits\b/g, "leave out --strict-limits"],
  [/^`runtimeType` is native/g, "the runtime is native"],
  [/\bisolation `compat`/g, "--isolation compat"],
];

const kLimit = /`?\b(?:limits|resourceLimits)\.(\w+)\b`?/g;

/** The same message without the names that only code has. */
export function inCliWords(message: string): string {
  let text = message;
  for (const [phrase, words] of kPhrases) text = text.replace(phrase, words);
  return text.replace(kLimit, (whole, name: string) => kLimitOptions[name] ?? whole);
}
