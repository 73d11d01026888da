/** The grammar of `native-runner tx`. Parsing only. */

import { constants } from "node:fs";
import { chmod, open, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";

import { type Command, Option, type OutputConfiguration } from "commander";
import pc from "picocolors";
import type { MergeOptions, MergeReport, Transaction } from "../../../types/transaction.js";
import type { ListedTransaction, TransactionSpace } from "../../../types/transaction-options.js";
import { changeSummary, counted, diffText } from "../../change-text.js";
import { TransactionError } from "../../errors.js";
import { loadAddon } from "../../native.js";
import { notableChanges } from "../../notable-changes.js";
import { covers, realPathOr } from "../../paths.js";
import { stateDirectory } from "../../protected-paths.js";
import type { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import { listTransactions } from "../../runners/transactions/transactions.js";
import { formatSize, visibleLine } from "../../text.js";
import { withAllowProtected, withAuditOption, withStateDirectory } from "../options.js";
import { CliError, printError, wantsColors, watchOutput } from "../terminal.js";
import { count, directory, finiteDuration, path } from "../values.js";
import { kMaxDiffBytes, page } from "./settle.js";
import {
  directoryOption,
  expectFree,
  findTransaction,
  isGone,
  kConflict,
  type PlaceOptions,
  placeWords,
  refusalOf,
  withTransaction,
} from "./transaction-place.js";

/** The implementations of the commands. */
export type TxActions = {
  txList(options: TxListOptions): Promise<void>;
  txPrune(options: TxPruneOptions): Promise<void>;
  txShow(id: string, options: TxPathOptions): Promise<void>;
  txDiff(id: string, other: string | undefined, options: TxDiffOptions): Promise<void>;
  txFork(id: string, options: TxForkOptions): Promise<void>;
  txMerge(id: string, from: string, options: TxMergeOptions): Promise<void>;
  txAdopt(id: string, from: string, options: TxOptions): Promise<void>;
  txCommit(id: string, options: TxCommitOptions): Promise<void>;
  txUndo(id: string, options: TxOptions): Promise<void>;
  txDiscard(id: string, options: TxOptions): Promise<void>;
};

const kId = "a transaction's id, or enough of its beginning";

function withPaths(command: Command): Command {
  return command.option(
    "--paths <path>",
    "this path of the workspace and all below it only; repeatable",
    path,
  );
}

/** Adds the commands. `say`: returns how parse errors are written, by the command's name. */
export function addTxCommand(
  program: Command,
  actions: TxActions,
  say: (name: string) => OutputConfiguration,
): void {
  const tx = program
    .command("tx")
    .description("the transactions of `run --transaction` that wait on disk")
    .usage("list|show|diff|commit|undo|discard|fork|merge|adopt|prune [options] ID")
    .configureOutput(say("tx"))
    .addHelpText(
      "after",
      `
Exit codes: 0 done; 2 misuse; 120 no such transaction; 121 a conflict; 122 it is protected (both:
nothing was changed); 123 another process has it open; 125 it can't be taken up.

Examples:
  $ native-runner tx list
  $ native-runner tx diff 4be8 | git apply --check
  $ native-runner tx commit 4be8 --paths src --paths package.json
  $ native-runner tx undo 4be8
  $ native-runner tx fork 4be8 --count 3
  $ native-runner tx diff 4be8 a01c --since-fork
  $ native-runner tx merge 4be8 a01c --on-conflict markers
  $ native-runner tx prune --older-than 30d --dry-run`,
    );
  const add = (name: string, description: string) =>
    withStateDirectory(tx.command(name).description(description))
      .option("--json", "print JSON instead")
      .configureOutput(say(`tx ${name}`));
  withFilters(add("list", "those on disk, the oldest first"))
    .option("--newer-than <time>", "only those opened within it: 2h, 7d", finiteDuration)
    .option("--sizes", "tell what each holds on disk, which takes a look at all of its files")
    .action(actions.txList);
  withPaths(add("show", "what one has changed").argument("<id>", kId)).action(actions.txShow);
  withPaths(
    add("diff", "the same as a patch for `git apply`; at a terminal in $PAGER")
      .argument("<id>", kId)
      .argument("[other]", "another one's: what it has otherwise than the first"),
  )
    .option("--since-fork", "of OTHER: what it has changed since both parted")
    .action(actions.txDiff);
  const addDeed = (name: string, description: string) =>
    withAuditOption(add(name, description).argument("<id>", kId));
  withAllowProtected(
    withPaths(addDeed("commit", "bring the changes to the workspace, all or none")),
  )
    .option("--merge", "merge what the workspace has had changed since, where that can be done")
    .action(actions.txCommit);
  addDeed("undo", "take the last commit back").action(actions.txUndo);
  addDeed("discard", "remove it; the workspace stays as it is").action(actions.txDiscard);
  addDeed("fork", "make another one that begins as it is")
    .option("--count <n>", "so many; default: 1", count)
    .action(actions.txFork);
  withPaths(addDeed("merge", "merge another one's changes into it, all or none"))
    .argument("<from>", "the other one")
    .addOption(
      new Option(
        "--on-conflict <how>",
        "what becomes of what both have changed; default: fail",
      ).choices(["fail", "ours", "theirs", "markers"]),
    )
    .action(actions.txMerge);
  addDeed("adopt", "make its files those of another one")
    .argument("<from>", "the other one")
    .action(actions.txAdopt);
  withAuditOption(
    withFilters(
      add("prune", "discard those whose workspace is gone, and with --older-than old ones"),
    ),
  )
    .option("--dry-run", "only say which")
    .action(actions.txPrune);
}

function withFilters(command: Command): Command {
  return command
    .option(
      "-w, --workspace <dir>",
      "only those of this workspace, and of those below it",
      directory,
    )
    .option("--older-than <time>", "only those opened before: 2h, 7d", finiteDuration);
}

/** `native-runner tx`: works with transactions on disk. */

/** Options as commander passes them. */
type TxOptions = PlaceOptions & { json?: boolean };
/** Options that select transactions; times in milliseconds. */
type TxFilters = { workspace?: string; olderThan?: number; newerThan?: number };
/** Options of `list`. */
type TxListOptions = TxOptions & TxFilters & { sizes?: boolean };
/** Options of `prune`. */
type TxPruneOptions = TxOptions & Omit<TxFilters, "newerThan"> & { dryRun?: boolean };
/** Options of `show`, `diff` and `commit`. */
type TxPathOptions = TxOptions & { paths?: string[] };
/** Options of `diff`. */
type TxDiffOptions = TxPathOptions & { sinceFork?: boolean };
/** Options of `fork`. */
type TxForkOptions = TxOptions & { count?: number };
/** Options of `merge`. */
type TxMergeOptions = TxPathOptions & Pick<MergeOptions, "onConflict">;
/** Options of `commit`. */
type TxCommitOptions = TxPathOptions & { allowProtected?: string[]; merge?: boolean };

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Returns the library's option; omitted if not given. */
const pathsOption = ({ paths }: TxPathOptions) => (paths === undefined ? {} : { paths });

/** Reports why the action was refused, and sets the exit code. */
function tellRefusal(error: unknown, id: string, options: TxOptions, isUndo: boolean): void {
  if (!(error instanceof TransactionError)) throw error;
  const refusal = refusalOf(error, `${id}${placeWords(options)}`, isUndo);
  if (options.json) print({ id, error: refusal.json });
  printError(refusal.message, refusal.fix);
  process.exitCode = refusal.exitCode;
}

/** A transaction on disk; `gone`: its workspace is no directory any more. */
type Found = ListedTransaction & { gone?: true };

/** Returns the transactions that the options select, the oldest first. */
async function selected(options: TxListOptions): Promise<Found[]> {
  const { workspace, olderThan = 0, newerThan = Number.POSITIVE_INFINITY } = options;
  const below = workspace === undefined ? undefined : realPathOr(resolve(workspace)); // it may be gone
  const now = Date.now();
  const listed = await listTransactions({
    ...directoryOption(options),
    sizes: options.sizes === true,
  });
  return listed
    .filter((each) => {
      const ms = now - each.createdAt.getTime();
      const isBelow = below === undefined || covers(below, each.workspace);
      return isBelow && ms >= olderThan && ms <= newerThan;
    })
    .map((each) => (isGone(each.workspace) ? { ...each, gone: true } : each));
}

/** `tx list`: lists the transactions on disk. */
export async function txList(options: TxListOptions): Promise<void> {
  watchOutput();
  const listed = await selected(options);
  if (options.json) print(listed);
  else {
    const columns = process.stdout.isTTY ? process.stdout.columns : undefined;
    process.stdout.write(listText(listed, Date.now(), wantsColors(process.stdout), columns));
  }
}

/** Holds what may be the only copy of a user's files: of a commit that was interrupted, or not undone whole. */
const holdsBackups = ({ state, gone, recovered }: Found) =>
  state === "torn" || (gone === true && recovered !== undefined);

/**
 * `tx prune`: discards transactions whose workspace is gone, and old ones. Those that are open, or hold backups of an
 * unfinished commit, are left.
 */
export async function txPrune(options: TxPruneOptions): Promise<void> {
  watchOutput();
  const isMeant = (each: Found) =>
    each.state !== "open" && (each.gone || options.olderThan !== undefined);
  const found = (await selected({ ...options, sizes: true })).filter(isMeant);
  const pruned: Found[] = [];
  const left: Found[] = [];
  for (const each of found) {
    const isPruned = !holdsBackups(each) && (options.dryRun || (await discardFound(each, options)));
    (isPruned ? pruned : left).push(each);
    if (!options.json) process.stdout.write(`${prunedLine(each, isPruned, options)}\n`);
  }
  const freed = pruned.reduce((sum, { space }) => sum + (space?.bytes ?? 0), 0);
  if (options.json) print({ dryRun: options.dryRun === true, pruned, left });
  else if (found.length === 0) process.stdout.write("nothing to prune\n");
  else if (pruned.length > 0) {
    process.stdout.write(`${options.dryRun ? "would free" : "freed"} ${formatSize(freed)}\n`);
  }
}

function prunedLine(each: Found, isPruned: boolean, { dryRun }: TxPruneOptions): string {
  const where = `${each.gone ? "its workspace is gone: " : ""}${visibleLine(each.workspace)}`;
  if (isPruned) return `${dryRun ? "would discard" : "discarded"} ${each.id} (${where})`;
  const why = holdsBackups(each)
    ? "it has backups of files of a commit that was interrupted"
    : "it has been opened";
  return `left ${each.id} (${where}): ${why}`;
}

/** Returns false if another process has opened it meanwhile. */
async function discardFound(found: Found, options: TxOptions): Promise<boolean> {
  if (found.gone) return discardGone(found, options);
  await withTransaction(found.id, options, (transaction) => transaction.discard());
  return true;
}

/**
 * A transaction without a workspace can't be resumed, so its directory is removed as it is: under its lock, and by a
 * name by which the next transaction finds what a kill leaves.
 */
async function discardGone({ id, workspace }: Found, options: TxOptions): Promise<boolean> {
  const { directory = stateDirectory("transactions") } = directoryOption(options);
  const lock = await open(join(directory, id, "lock"), constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    if (!loadAddon().lockFile(lock.fd) || !isGone(workspace)) return false;
    const discarded = join(directory, `discarded-${id}`);
    await rename(join(directory, id), discarded);
    await openDirectories(discarded);
    await rm(discarded, { recursive: true, force: true });
    return true;
  } finally {
    await lock.close();
  }
}

/** Overlays leave directories, and commands may, in which their owner can remove nothing. */
async function openDirectories(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await openDirectories(join(path, entry.name));
  }
}

/** `tx show`: shows the changes of a transaction. */
export async function txShow(id: string, options: TxPathOptions): Promise<void> {
  watchOutput();
  await withTransaction(id, options, async (transaction, { createdAt, workspace, backend }) => {
    const changes = await transaction.changes(pathsOption(options));
    if (options.json) {
      print({ id: transaction.id, workspace, createdAt, backend, changes });
      return;
    }
    const summary = changeSummary(changes, wantsColors(process.stdout));
    process.stdout.write(summary === "" ? "no changes\n" : summary);
  });
}

/** `tx diff`: prints the changes as a patch, for `git apply`; at a terminal in the pager. */
export async function txDiff(
  id: string,
  other: string | undefined,
  options: TxDiffOptions,
): Promise<void> {
  watchOutput();
  if (options.sinceFork && other === undefined) {
    throw new CliError("--since-fork needs another transaction: tx diff --since-fork ID OTHER", 2);
  }
  await withTransaction(id, options, async (first, listed, runner) => {
    const since = options.sinceFork ? { sinceFork: first } : { since: first };
    const wanted = { ...pathsOption(options), maxBytes: kMaxDiffBytes };
    const second = other === undefined ? undefined : await otherOf(other, listed, runner, options);
    const diff = await (second ? second.diff({ ...wanted, ...since }) : first.diff(wanted));
    if (options.json) print({ id: first.id, ...(second && { other: second.id }), diff });
    else if (!process.stdout.isTTY) process.stdout.write(diff);
    else if (diff !== "") await page(diffText(diff, wantsColors(process.stdout)));
    else process.stdout.write("no changes\n");
  });
}

/**
 * Opens another transaction of the same workspace, closed with its runner.
 * @throws (rejects) like `withTransaction`; CliError for one of another workspace, and for the same one.
 */
async function otherOf(
  id: string,
  { id: own, workspace }: ListedTransaction,
  runner: BubblewrapNativeRunner,
  options: TxOptions,
): Promise<Transaction> {
  const other = await findTransaction(id, options);
  if (other.id === own) throw new CliError(`both are the transaction ${own}`, 2);
  if (other.workspace !== workspace) {
    const where = `${other.id} is of ${visibleLine(other.workspace)}, not of ${visibleLine(workspace)}`;
    throw new CliError(`they are of two workspaces: ${where}`, 2);
  }
  expectFree(other);
  return runner.resumeTransaction(other.id, directoryOption(options));
}

/** `tx fork`: makes others that begin as it is. */
export async function txFork(id: string, options: TxForkOptions): Promise<void> {
  watchOutput();
  await withTransaction(id, options, async (transaction) => {
    const forks = await transaction.fork({ count: options.count ?? 1 });
    const ids = forks.map((fork) => fork.id);
    if (options.json) print({ id: transaction.id, forks: ids });
    else process.stdout.write(ids.map((each) => `${each}\n`).join(""));
  });
}

/** `tx merge`: merges another one's changes, all or nothing. */
export async function txMerge(id: string, from: string, options: TxMergeOptions): Promise<void> {
  const { onConflict } = options;
  await bringTogether(id, from, options, (transaction, other) =>
    transaction.merge(other, { ...pathsOption(options), ...(onConflict && { onConflict }) }),
  );
}

/** `tx adopt`: makes its files those of another one. */
export async function txAdopt(id: string, from: string, options: TxOptions): Promise<void> {
  await bringTogether(id, from, options, (transaction, other) => transaction.adopt(other));
}

async function bringTogether(
  id: string,
  from: string,
  options: TxOptions,
  bring: (transaction: Transaction, other: Transaction) => Promise<MergeReport>,
): Promise<void> {
  watchOutput();
  await withTransaction(id, options, async (transaction, listed, runner) => {
    const other = await otherOf(from, listed, runner, options);
    try {
      const { merged, conflicts } = await bring(transaction, other);
      if (options.json) {
        print({ id: transaction.id, from: other.id, merged, conflicts });
        return;
      }
      const lines = merged.map((path) => `${visibleLine(path)}\n`);
      process.stdout.write(lines.length === 0 ? "nothing to merge\n" : lines.join(""));
      for (const { path, reason } of conflicts) printError(`${visibleLine(path)}: ${reason}`);
    } catch (error) {
      if (!(error instanceof TransactionError) || error.reasons === undefined) throw error;
      const { code, message, reasons } = error;
      if (options.json) print({ id: transaction.id, error: { code, message, conflicts: reasons } });
      const named = reasons.map(({ path, reason }) => `\n  ${visibleLine(path)}: ${reason}`);
      printError(
        `conflict, nothing was merged:${named.join("")}`,
        "--on-conflict ours, theirs or markers decides; --paths PATH merges others",
      );
      process.exitCode = kConflict;
    }
  });
}

/** `tx commit`: commits all or nothing; the backup for an undo is kept. */
export async function txCommit(id: string, options: TxCommitOptions): Promise<void> {
  watchOutput();
  await withTransaction(id, options, async (transaction, { workspace }) => {
    const { allowProtected = [], merge = false } = options;
    try {
      const report = await transaction.commit({ ...pathsOption(options), allowProtected, merge });
      const { committed, left, merged } = report;
      if (options.json) {
        print({ id: transaction.id, committed, left, ...(merged && { merged }) });
        return;
      }
      const summary = changeSummary(committed, wantsColors(process.stdout));
      process.stdout.write(summary === "" ? "nothing to commit\n" : summary);
      if (left.length > 0) {
        printError(`${counted(notableChanges(left).length, "change")} not committed, and waiting`);
      }
      for (const path of merged ?? []) {
        printError(`${visibleLine(path)} was merged with what the workspace had`);
      }
      if (committed.length > 0) tellOfUndo(transaction, workspace, options);
    } catch (error) {
      tellRefusal(error, transaction.id, options, false);
    }
  });
}

function tellOfUndo({ id }: Transaction, workspace: string, options: TxOptions): void {
  const place = placeWords(options);
  printError(
    `committed to ${visibleLine(workspace)}; \`native-runner tx undo ${id}${place}\` takes it back, \`tx discard\` forgets how`,
  );
}

/** `tx undo`: undoes the last commit. */
export async function txUndo(id: string, options: TxOptions): Promise<void> {
  watchOutput();
  await withTransaction(id, options, async (transaction, { workspace }) => {
    try {
      await transaction.undo();
      if (options.json) print({ id: transaction.id, undone: true });
      else
        process.stdout.write(
          `${visibleLine(workspace)} is as it was; the changes wait in ${transaction.id}\n`,
        );
    } catch (error) {
      tellRefusal(error, transaction.id, options, true);
    }
  });
}

/** `tx discard`: removes the transaction completely; the workspace is unchanged. */
export async function txDiscard(id: string, options: TxOptions): Promise<void> {
  watchOutput();
  await withTransaction(id, options, async (transaction) => {
    await transaction.discard();
    if (options.json) print({ id: transaction.id, discarded: true });
    else process.stdout.write(`discarded ${transaction.id}\n`);
  });
}

/** Formats the transactions on disk for people. Pure. */

const kMinute = 60_000;
const kHour = 60 * kMinute;
const kDay = 24 * kHour;

/** Returns the elapsed time in the largest whole unit. */
export function age(ms: number): string {
  if (ms < kMinute) return "just now";
  if (ms < kHour) return `${Math.floor(ms / kMinute)} min ago`;
  return ms < kDay ? `${Math.floor(ms / kHour)} h ago` : `${Math.floor(ms / kDay)} d ago`;
}

/** Returns a path, its beginning left out where it is too long: its end tells more. */
function ending(path: string, room: number): string {
  const letters = [...path];
  const most = Math.max(room, kShortestPath);
  return letters.length <= most ? path : `…${letters.slice(1 - most).join("")}`;
}

const kShortestPath = 16;

/** Formats what the removal of a transaction frees, and what it shares with others. */
function sizeWords({ bytes, sharedBytes }: TransactionSpace): string {
  const shared = sharedBytes === 0 ? "" : ` + ${formatSize(sharedBytes)} shared`;
  return `${formatSize(bytes)}${shared}`;
}

const kRecovered: Record<NonNullable<ListedTransaction["recovered"]>, string> = {
  "rolled-back": "(a commit is to be rolled back)",
  completed: "(a commit is to be completed)",
  torn: "",
};

/** Deeper forks are shown as deep as this. */
const kDeepest = 4;

/** Returns the transactions with the forks of each behind it, both in their order. */
function asTree(listed: readonly Found[]): { found: Found; depth: number }[] {
  const ids = new Set(listed.map(({ id }) => id));
  const forks = new Map<string, Found[]>();
  for (const each of listed) {
    const { parent = "" } = each;
    forks.set(parent, [...(forks.get(parent) ?? []), each]);
  }
  const isRoot = ({ parent }: Found) => parent === undefined || !ids.has(parent);
  const below = (found: Found, depth: number): { found: Found; depth: number }[] => [
    { found, depth },
    ...(forks.get(found.id) ?? []).flatMap((fork) => below(fork, depth + 1)),
  ];
  const rows = listed.filter(isRoot).flatMap((root) => below(root, 0));
  // Records that lead in a circle, which nobody writes, are shown nevertheless.
  const shown = new Set(rows.map(({ found }) => found));
  return [
    ...rows,
    ...listed.filter((each) => !shown.has(each)).map((found) => ({ found, depth: 0 })),
  ];
}

/** Returns a line for each transaction, under a heading; ends with a newline. */
export function listText(
  listed: readonly Found[],
  now: number,
  useColors: boolean,
  columns = Number.POSITIVE_INFINITY,
): string {
  if (listed.length === 0) return "no transactions\n";
  const colors = pc.createColors(useColors);
  const paint = { open: colors.green, closed: (text: string) => text, torn: colors.red };
  const rows = asTree(listed).map(({ found, depth }) => {
    const { id, state, createdAt, workspace, recovered, committed, gone, space } = found;
    return {
      id: depth === 0 ? id : `${"  ".repeat(Math.min(depth, kDeepest) - 1)}└ ${id}`,
      state,
      age: age(now - createdAt.getTime()),
      size: space === undefined ? "" : sizeWords(space),
      path: visibleLine(workspace),
      notes: [
        gone ? "(the workspace is gone)" : "",
        committed ? "(committed: undo takes it back)" : "",
        recovered ? kRecovered[recovered] : "",
      ]
        .filter((word) => word !== "")
        .join(" "),
    };
  });
  const width = Math.max("OPENED".length, ...rows.map((row) => row.age.length));
  const idWidth = Math.max(...rows.map((row) => row.id.length));
  const longestSize = Math.max(...rows.map((row) => row.size.length));
  const sizeWidth = longestSize === 0 ? 0 : Math.max("SIZE".length, longestSize);
  const sizeCells = (size: string) => (sizeWidth === 0 ? [] : [size.padEnd(sizeWidth)]);
  const headings = ["ID".padEnd(idWidth), "STATE ", "OPENED".padEnd(width), ...sizeCells("SIZE")];
  const before = `${headings.join("  ")}  `;
  const room = columns - before.length;
  const lines = rows.map(({ id, state, age, size, path, notes }) => {
    const note =
      notes === "" ? "" : room < path.length + notes.length + 1 ? `\n  ${notes}` : ` ${notes}`;
    const cells = [
      id.padEnd(idWidth),
      paint[state](state.padEnd(6)),
      age.padEnd(width),
      ...sizeCells(size),
      ending(path, room),
    ];
    return `${cells.join("  ")}${note}`;
  });
  const heading = `${before}WORKSPACE`;
  return `${[colors.bold(heading), ...lines].join("\n")}\n`;
}
