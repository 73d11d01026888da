/** A result as tests like to read it. */

import type { NativeExecInput, NativeExecResult, NativeRunner } from "./package.js";

export type Seen<Result extends NativeExecResult = NativeExecResult> = {
  exitCode: number;
  kind: string | undefined;
  /** Text of the streams, without the last newline. */
  out: string;
  err: string;
  result: Result;
};

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
export const bytes = (value: string): Uint8Array => new Uint8Array(Buffer.from(value));

export function see<Result extends NativeExecResult>(result: Result): Seen<Result> {
  return {
    exitCode: result.exitCode,
    kind: result.outcome?.kind,
    out: text(result.stdout).replace(/\n$/, ""),
    err: text(result.stderr).replace(/\n$/, ""),
    result,
  };
}

type Runs<Result extends NativeExecResult> = { exec(input: NativeExecInput): Promise<Result> };

/** Runs a command, or a shell script when it is a string. */
export async function run<Result extends NativeExecResult>(
  runner: Runs<Result>,
  command: string | readonly string[],
  input: Partial<NativeExecInput> = {},
): Promise<Seen<Result>> {
  const argv = typeof command === "string" ? ["sh", "-c", command] : [...command];
  return see(await runner.exec({ argv, ...input }));
}

/** Makes a runner for a workspace; what the shared tables of promises are run with. */
export type MakeRunner = (options: RunnerChoice) => NativeRunner;
export type RunnerChoice = {
  shadowDir: string;
  network?: "allow" | "deny";
  roBinds?: readonly string[];
};

/** The text with one name for the homes that Landlock's runs have each to itself. */
export const withoutHomeId = (output: string) =>
  output.replaceAll(/(?<=\/run-homes\/)[0-9a-f]{16}/g, "ID");
