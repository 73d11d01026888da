/** Input of commands in the form sent to workers. This process checks part of it; the worker checks the rest. */

import type {
  NativeExecInput,
  NativeSpawnInput,
  RunnerExecInput,
  SandboxedExecResult,
} from "../../../types/public.js";
import { invalidType, invalidValue } from "../../errors.js";
import { definedOnly, expectFields, type FieldsOf } from "../../fields.js";
import { kMostFrameBytes } from "../wire/frame.js";
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

/** Rejects `lease`: each remote run has a lease of its own, which the worker renews. */
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

/** Leaves out the variables that are undefined. */
function withDefined<Input extends { env?: unknown }>(input: Input): Input {
  return input.env === undefined ? input : { ...input, env: definedOnly(input.env) };
}

/**
 * Returns the parts of an exec's input, reading each field once.
 * @throws TypeError that names the field
 */
export function execInputOf(given: RunnerExecInput) {
  expectFields(given, "input", kExecFields);
  const { stdin, signal, onStdout, onStderr, lease, ...sent } = given;
  const rest = withDefined(sent);
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
  const { signal, lease, ...sent } = given;
  const rest = withDefined(sent);
  refuseLease(lease);
  checkArgv(rest.argv);
  return { input: toPlain(rest, "input"), signal, hasTerminal: rest.pty !== undefined };
}

/** The result of a worker, without the output. */
export type ReportedResult = Omit<SandboxedExecResult, "stdout" | "stderr">;

/** Checks that a request can be sent before any of it is, and names the field that is too long. Pure. */

/** Bytes of a frame reserved for the wire protocol's own data: numbers and names of fields. */
const kRoom = 64 * 1024;
export const kMostRequestBytes = kMostFrameBytes - kRoom;
/** Most bytes that one character takes in JSON: "\u001f". */
const kLongest = 6;

/** Returns a lower bound of the characters in all texts of a value. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8; // a number in nearly all cases
  let sum = 2;
  for (const [name, each] of Object.entries(value)) sum += name.length + 4 + charactersOf(each);
  return sum;
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? "");

/**
 * @param all values by name, in the form they are sent; `input` counts as its fields
 * @param more bytes that are sent with them
 * @throws RangeError that names the longest field
 */
export function expectSendable(all: Readonly<Record<string, unknown>>, more: number): void {
  const { input, ...rest } = all;
  const fields = Object.entries({ ...(input as object), ...rest });
  const characters = fields.reduce((sum, [, value]) => sum + charactersOf(value), more);
  if (characters * kLongest <= kMostRequestBytes) return;
  const sizes = fields.map(([name, value]) => ({ name, bytes: bytesOf(value) }));
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, more);
  if (total <= kMostRequestBytes) return;
  const { name, bytes } = sizes.reduce((most, each) => (each.bytes > most.bytes ? each : most));
  const most = kMostRequestBytes - (total - bytes);
  const error = new RangeError(
    `Expected \`${name}\` to have at most ${most} bytes as it is sent to a worker, got ${bytes}`,
  );
  throw Object.assign(error, { code: "ERR_OUT_OF_RANGE" });
}
