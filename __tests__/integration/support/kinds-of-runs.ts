/** Runs of every kind of end, to compare what two ways of running a command make of them. */

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kBegunMs } from "../../support/waits.js";
import type { NativeExecInput } from "./package.js";
import { bytes } from "./results.js";
import { tempDirectory } from "./temp.js";

export const sh = (script: string) => ({ argv: ["sh", "-c", script] });
export const kKindsOfRuns: [string, NativeExecInput][] = [
  ["an exit code", sh("echo out; echo err >&2; exit 7")],
  ["a signal", sh("echo out; kill -SEGV $$")],
  ["a command that is missing", { argv: ["no-such-command"] }],
  ["a command that can't be run", { argv: ["/etc"] }],
  ["a script without an interpreter", { argv: ["./script", "a"] }],
  ["a directory below", { ...sh("pwd; echo $PWD"), cwd: "sub/dir" }],
  ["a directory that is missing", { ...sh("pwd"), cwd: "missing" }],
  ["a directory that can't be entered", { ...sh("pwd"), cwd: "script" }],
  ["variables", { ...sh('echo "$A|$LD_PRELOAD"; env -u PWD | sort'), env: { A: "1 2" } }],
  ["input", { ...sh("cat; readlink /proc/self/fd/0 | sed s/[0-9]*//g"), stdin: bytes("text") }],
  ["no input", sh("cat; readlink /proc/self/fd/0; stat -L -c '%F %t:%T' /proc/self/fd/0")],
  ["input that is not read", { ...sh("exit 3"), stdin: new Uint8Array(300_000) }],
  [
    "what is open",
    sh("ls /proc/self/fd; for n in 1 2; do readlink /proc/self/fd/$n | cut -c-4; done"),
  ],
  // Not SigQ: it counts what is queued for all processes of the user.
  ["its own status", sh("grep -E '^(Cap|NoNew|Seccomp|Sig[PBIC]|Groups)' /proc/self/status; nice")],
  ["output over the limit", { ...sh("yes | head -c 100000"), limits: { maxStdoutBytes: 999 } }],
  ["head and tail", { ...sh("seq 9999"), limits: { maxStdoutBytes: 99, keep: "head+tail" } }],
  ["nothing kept", { ...sh("echo x"), limits: { maxStdoutBytes: 0, maxStderrBytes: 0 } }],
  ["a deadline", { ...sh("echo before; sleep 1000"), limits: { timeoutMs: kBegunMs } }],
  ["a limit of CPU time", { ...sh("while :; do :; done"), limits: { cpuSeconds: 1 } }],
  ["a limit of open files", { ...sh("ulimit -n"), limits: { maxOpenFiles: 17 } }],
  ["a limit of a file's size", { ...sh("yes > file"), limits: { maxFileBytes: 5000 } }],
];

/** The workspace that they need. */
export function prepared(): string {
  const shadowDir = tempDirectory();
  mkdirSync(join(shadowDir, "sub/dir"), { recursive: true });
  writeFileSync(join(shadowDir, "script"), "echo script $1\n");
  chmodSync(join(shadowDir, "script"), 0o755);
  return shadowDir;
}
