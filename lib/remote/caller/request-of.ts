/** What a caller's input is on the wire: checked as far as can be told here; the worker's own checks say the rest. */

import type {
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
} from "../../../types/public.js";
import { invalidType, invalidValue } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { toPlain } from "../wire/plain.js";

const kExecFields: FieldsOf<NativeExecInput> = {
  argv: true,
  cwd: true,
  env: true,
  stdin: true,
  stderr: true,
  limits: true,
  lease: true,
  explain: true,
  signal: true,
  onStdout: true,
  onStderr: true,
};

const kSpawnFields: FieldsOf<NativeSpawnInput> = {
  argv: true,
  cwd: true,
  env: true,
  limits: true,
  lease: true,
  signal: true,
  pty: true,
  explain: true,
  stderr: true,
};

function checkArgv(argv: unknown): void {
  if (!Array.isArray(argv)) throw invalidType("argv", "an array of strings", argv);
  if (argv.length > 0 && argv[0] !== "") return;
  throw invalidValue("NativeRunner.exec: argv[0] is required");
}

/** Its run has a lease of its own, which the worker keeps. */
function refuseLease(lease: unknown): void {
  if (lease === undefined) return;
  throw invalidValue(
    "`lease` can't be given to a remote run: each has one, which its worker keeps",
  );
}

function inputBytes(stdin: unknown): Uint8Array | undefined {
  if (stdin === undefined) return undefined;
  if (typeof stdin === "string") return Buffer.from(stdin);
  if (stdin instanceof Uint8Array) return Uint8Array.from(stdin);
  throw invalidType("stdin", "a Uint8Array or a string", stdin);
}

function checkCallback(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function")
    throw invalidType(name, "a function", value);
}

/** An exec's input, each field read once. @throws TypeError that names the field. */
export function execInputOf(given: NativeExecInput) {
  expectFields(given, "input", kExecFields);
  const { stdin, signal, onStdout, onStderr, lease, ...rest } = given;
  refuseLease(lease);
  checkArgv(rest.argv);
  checkCallback("onStdout", onStdout);
  checkCallback("onStderr", onStderr);
  return {
    input: toPlain(rest, "input"),
    stdin: inputBytes(stdin),
    signal,
    onStdout,
    onStderr,
  };
}

/** As {@link execInputOf}, for `spawn`. */
export function spawnInputOf(given: NativeSpawnInput) {
  expectFields(given, "input", kSpawnFields);
  const { signal, lease, ...rest } = given;
  refuseLease(lease);
  checkArgv(rest.argv);
  return { input: toPlain(rest, "input"), signal, hasTerminal: rest.pty !== undefined };
}

/** What a worker told of a result, besides the output. */
export type ToldResult = Omit<SandboxedExecResult, "stdout" | "stderr">;
