import type {
  CommitAnswer,
  CommitRequest,
  PackedChanges,
  TransactionHandle,
} from "../../../types/addon-transaction.js";
import type {
  Change,
  ChangesOptions,
  CommitOptions,
  Transaction,
} from "../../../types/transaction.js";
import { realPathIfAnswering } from "../../answering-path.js";
import { invalidType, invalidValue, TransactionError } from "../../errors.js";
import { expectFields, expectObject, type FieldsOf } from "../../fields.js";
import { homes } from "../../protected-paths.js";
import { membershipOf } from "./membership.js";

const kKinds: readonly Change["kind"][] = ["added", "modified", "deleted", "renamed"];
const kTypes: readonly Change["type"][] = ["file", "directory", "symlink", "other"];
const kNumbers = 8; // per change, see native/addon/workspace/transaction_object.h
const kConflict = 1;
const kTarget = 2;
const kFrom = 4;
const kVersion = 8;
/** Changes unpacked per turn of the event loop; about 0.5 µs each. */
const kAtOnce = 2000;

/** Yields to other work of the event loop. */
const others = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Unpacks changes that native code packed: creating the objects natively takes ten times as long. */
export async function unpacked({ text, numbers }: PackedChanges): Promise<Change[]> {
  const bytes = numbers.byteLength;
  const values = new Float64Array(numbers.buffer, numbers.byteOffset, bytes / 8);
  const words = text.split("\0");
  const changes: Change[] = [];
  let word = 0;
  for (let at = 0; at < values.length; at += kNumbers) {
    if (changes.length % kAtOnce === kAtOnce - 1) await others();
    const flags = values[at + 6] ?? 0;
    const change: Change = {
      path: words[word++] ?? "",
      kind: kKinds[values[at] ?? 0] ?? "modified",
      type: kTypes[values[at + 1] ?? 0] ?? "other",
      size: values[at + 2] ?? 0,
      previousSize: values[at + 3] ?? 0,
      mode: values[at + 4] ?? 0,
      previousMode: values[at + 5] ?? 0,
    };
    if ((flags & kFrom) !== 0) change.from = words[word++] ?? "";
    if ((flags & kTarget) !== 0) change.target = words[word++] ?? "";
    if ((flags & kConflict) !== 0) change.conflict = true;
    if ((flags & kVersion) !== 0) {
      change.version = words[word++] ?? "";
      const changedMs = values[at + 7] ?? 0;
      if (changedMs !== 0) change.changedAt = new Date(changedMs);
    }
    changes.push(change);
  }
  return changes;
}

type Compared = Pick<ChangesOptions, "since" | "sinceFork">;

/**
 * Returns the other transaction of a comparison, and the option that names it; undefined: none does.
 * @throws TypeError where both options do
 */
export function comparedWith({
  since,
  sinceFork,
}: Compared): { field: "since" | "sinceFork"; other: Transaction } | undefined {
  if (since !== undefined && sinceFork !== undefined) {
    throw invalidValue("Expected one of `since` and `sinceFork`, got both");
  }
  if (since !== undefined) return { field: "since", other: since };
  return sinceFork === undefined ? undefined : { field: "sinceFork", other: sinceFork };
}

/**
 * Returns the other transaction of a comparison as native code takes it; undefined: none was given.
 * @throws TypeError for what is no transaction, and for two.
 */
export function otherHandle(
  options: Compared,
): { [Field in keyof Compared]?: TransactionHandle } | undefined {
  const compared = comparedWith(options);
  if (compared === undefined) return undefined;
  const { field, other } = compared;
  return { [field]: membershipOf(other, field).handle };
}

/** See `Transaction.changes`. */
export async function reportedChanges(
  handle: TransactionHandle,
  given: ChangesOptions,
  protectedNames: readonly string[],
): Promise<Change[]> {
  expectObject(given, "options");
  const { details = false, since, sinceFork, ...options } = given;
  if (typeof details !== "boolean") throw invalidType("details", "a boolean", details);
  const other = otherHandle({ since, sinceFork });
  if (other !== undefined) {
    const [field] = Object.keys(other);
    if (details) throw invalidValue(`Expected \`details\` to be false with \`${field}\``);
    return unpacked(await handle.changes({ ...options, ...other }));
  }
  if (!details) return unpacked(await handle.changes(options));
  const [packed, { refused }] = await Promise.all([
    handle.changes({ ...options, versions: true }),
    handle.check({ ...options, protectedNames, homes: homes(realPathIfAnswering) }),
  ]);
  const changes = await unpacked(packed);
  const paths = new Set(refused.map(({ path }) => path));
  for (const change of changes) {
    if (paths.has(change.path) || paths.has(change.from ?? "")) change.protected = true;
  }
  return changes;
}

/** Checks the JavaScript part of a commit's options, and interprets its answer. */

const kCommitOptions: FieldsOf<CommitOptions> = {
  paths: true,
  exact: true,
  allowProtected: true,
  approvedBy: true,
  expected: true,
  contents: true,
  merge: true,
};
const kMostApprovedBy = 1000;

/** Returns a user's text unchanged. @throws TypeError if it is not a string or too long. */
export function textOf(what: string, value: unknown, most: number): string {
  if (typeof value !== "string") throw invalidType(what, "a string", value);
  if (value.length <= most && !value.includes("\0")) return value;
  throw invalidValue(`Expected \`${what}\` to have at most ${most} characters and no NUL`);
}

/** Returns the first paths, for a message. */
export function some(paths: readonly string[]): string {
  const kMost = 3;
  const shown = paths.slice(0, kMost).join(", ");
  return paths.length > kMost ? `${shown} and ${paths.length - kMost} more` : shown;
}

/** The two sides of a rename are separate changes. */
function expectedOf(changes: unknown): NonNullable<CommitRequest["expected"]> {
  if (!Array.isArray(changes)) throw invalidType("expected", "an array of changes", changes);
  return changes.flatMap((change: Partial<Change> | null, at) => {
    const { path, version, kind, from } = change ?? {};
    const name = `expected[${at}]`;
    if (typeof path !== "string") throw invalidType(`${name}.path`, "a string", path);
    if (typeof version !== "string") {
      throw invalidType(`${name}.version`, "a string, as `changes` has it with `details`", version);
    }
    const gone = { path: from ?? "", version: "gone" };
    return kind === "renamed" ? [{ path, version }, gone] : [{ path, version }];
  });
}

function contentsOf(contents: unknown): NonNullable<CommitRequest["contents"]> {
  if (typeof contents !== "object" || contents === null || Array.isArray(contents)) {
    throw invalidType("contents", "an object of files by path", contents);
  }
  return Object.entries(contents).map(([path, data]) => {
    if (typeof data === "string" || data instanceof Uint8Array) return { path, data };
    throw invalidType(`contents[${JSON.stringify(path)}]`, "a string or a Uint8Array", data);
  });
}

/** @throws TypeError for misuse; native code checks the paths. */
export function commitRequest(
  options: CommitOptions,
  protectedNames: readonly string[],
): { request: CommitRequest; approver: string | undefined; merges: boolean } {
  expectFields(options, "options", kCommitOptions);
  const { approvedBy, expected, contents, merge: merges = false, ...asked } = options;
  if (typeof merges !== "boolean") throw invalidType("merge", "a boolean", merges);
  if (merges && (expected !== undefined || contents !== undefined)) {
    const other = expected === undefined ? "contents" : "expected";
    throw invalidValue(
      `Expected \`merge\` to be false with \`${other}\`: what is merged is not what was seen`,
    );
  }
  const approver =
    approvedBy === undefined ? undefined : textOf("approvedBy", approvedBy, kMostApprovedBy);
  const request = {
    ...asked,
    protectedNames,
    homes: homes(realPathIfAnswering),
    ...(expected !== undefined && { expected: expectedOf(expected) }),
    ...(contents !== undefined && { contents: contentsOf(contents) }),
  };
  return { request, approver, merges };
}

/** @throws TransactionError if the answer contains a reason that prevented the commit. */
export function expectDone(answer: CommitAnswer): CommitAnswer {
  const { conflicts, refused, unexpected } = answer;
  const pathsOf = (changes: readonly Change[]) => changes.map(({ path }) => path);
  if (conflicts.length > 0) {
    const paths = pathsOf(conflicts);
    const message = `the host has changed ${some(paths)} too`;
    throw new TransactionError(message, "ERR_TRANSACTION_CONFLICT", paths, conflicts);
  }
  if (unexpected.length > 0) {
    const message = `${some(unexpected)} is not what was expected: it has been changed in the transaction since`;
    throw new TransactionError(message, "ERR_TRANSACTION_UNEXPECTED", unexpected);
  }
  if (refused.length > 0) {
    const paths = pathsOf(refused);
    const message = `${some(paths)} is protected: name it in \`allowProtected\` to change it`;
    throw new TransactionError(message, "ERR_TRANSACTION_PROTECTED", paths, refused);
  }
  return answer;
}
