/**
 * Random forks, edits, merges, adoptions, commits, undos, rollbacks and kills of one workspace's transactions and its host,
 * against a model that knows which content each edit has seen: no edit is ever replaced by one that had not seen it, and
 * what a step does not concern stays as it is. NATIVE_RUNNER_STEPS says how many steps, NATIVE_RUNNER_SEED which.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  type Transaction,
  type TransactionBackend,
  TransactionError,
} from "../../integration/support/package.js";
import { describeSandboxed } from "../../integration/support/requirements.js";
import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { kBackends, stateDirectory } from "../../integration/support/transactions.js";
import { killedHost } from "../../integration/transaction/branches/branch-trees.js";
import { randomOf, seedOf } from "./random.js";

const kSteps = Number(process.env.NATIVE_RUNNER_STEPS ?? 240);
/** Steps on one workspace, before the next one begins anew. */
const kStepsOfOne = 80;
const kMostBranches = 5;
/** Far more than they take: what hangs ends. */
const kStepsMs = Math.max(600_000, kSteps * 1_000);

const kPaths = ["a", "b", "c", "d/x", "d/y", "d/e/z", "new", "d/new", "m/one", "d"];

/** An edit: its content, or none where it has removed `content`. Each has a number of its own. */
type Edit = { id: number; content: string | undefined; removed?: string };
/** What a path is in one tree, and all edits that led there. */
type Entry = { edit: Edit; known: ReadonlySet<number> };
type Tree = Map<string, Entry>;
/** By path, the one line of each file. */
type View = Map<string, string>;

const kNever: Entry = { edit: { id: 0, content: undefined }, known: new Set() };

const viewOf = (tree: Tree): View =>
  new Map([...tree].flatMap(([path, { edit }]) => (edit.content ? [[path, edit.content]] : [])));

const textOf = (view: View) =>
  [...view]
    .map(([path, line]) => `${path}:${line}`)
    .sort()
    .join("\n");

const kLook = "grep -rs '' . | sed 's|^[.]/||'";

function viewFrom(out: string): View {
  return new Map(
    out
      .split("\n")
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
}

function viewOfHost(directory: string, below = "", view: View = new Map()): View {
  for (const name of readdirSync(join(directory, below))) {
    const path = below === "" ? name : `${below}/${name}`;
    if (statSync(join(directory, path)).isDirectory()) viewOfHost(directory, path, view);
    else view.set(path, readFileSync(join(directory, path), "utf8").trim());
  }
  return view;
}

type Branch = {
  transaction: Transaction;
  tree: Tree;
  points: { id: string; tree: Tree }[];
  /** What the last commit that can be undone has replaced. */
  replaced: Tree | undefined;
};

class Workspace {
  readonly #log: string[] = [];
  readonly #random: () => number;
  readonly #host = tempDirectory("work");
  readonly #state = stateDirectory();
  readonly #branches: Branch[] = [];
  readonly #runner: BubblewrapNativeRunner;
  readonly #contents = new Map<string, Edit>();
  #hostTree: Tree = new Map();
  /** Of the host's own: merges don't know them; the later commit does. */
  readonly #madeByHost = new Set<number>();
  /** Removals of what an undo has taken from the host too. */
  readonly #moot = new Set<number>();
  /** Edits that an undo has taken from the host. */
  readonly #undone = new Set<number>();
  readonly #removedByHost = new Set<string>();
  /** By the number of the edit, what it has removed. */
  readonly #removals = new Map<number, string>();
  readonly #sameRemovals: Set<number>[] = [];
  #last = 0;
  readonly #seed: number;
  readonly #backend: TransactionBackend;
  readonly #done: Record<string, number>;

  constructor(seed: number, backend: TransactionBackend, done: Record<string, number>) {
    this.#seed = seed;
    this.#backend = backend;
    this.#done = done;
    this.#random = randomOf(seed);
    for (const path of ["a", "b", "c", "d/x", "d/y", "d/e/z"]) {
      this.#hostTree.set(path, this.#edited(kNever));
      this.#putOnHost(path);
    }
    this.#runner = new BubblewrapNativeRunner({ shadowDir: this.#host, prewarm: 0 });
  }

  async play(steps: number): Promise<void> {
    const options = { directory: this.#state, backend: this.#backend };
    const transaction = await this.#runner.openTransaction(options);
    const tree = new Map(this.#hostTree);
    this.#branches.push({ transaction, tree, points: [], replaced: undefined });
    try {
      for (let step = 0; step < steps; step += 1) await this.#step();
    } finally {
      for (const branch of this.#branches) await branch.transaction.discard();
      await this.#runner.close();
      rmSync(this.#host, { recursive: true });
    }
  }

  #below(end: number): number {
    return Math.floor(this.#random() * end);
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  #told(): string {
    return `NATIVE_RUNNER_SEED=${this.#seed} (${this.#backend})\n${this.#log.join("\n")}`;
  }

  #count(what: string): void {
    this.#done[what] = (this.#done[what] ?? 0) + 1;
  }

  #edited(before: Entry, removes = false): Entry {
    this.#last += 1;
    const id = this.#last;
    const removed = before.edit.content;
    const edit: Edit = removes
      ? { id, content: undefined, ...(removed !== undefined && { removed }) }
      : { id, content: `edit-${id}` };
    if (edit.content !== undefined) this.#contents.set(edit.content, edit);
    if (edit.removed !== undefined) this.#removals.set(id, edit.removed);
    return { edit, known: new Set([...before.known, id]) };
  }

  #putOnHost(path: string): void {
    mkdirSync(dirname(join(this.#host, path)), { recursive: true });
    const content = this.#hostTree.get(path)?.edit.content;
    writeFileSync(join(this.#host, path), `${content}\n`);
  }

  async #look(branch: Branch): Promise<View> {
    const { out, err } = await run(branch.transaction, kLook);
    expect(err, this.#told()).toBe("");
    return viewFrom(out);
  }

  /** Makes `tree` what is seen; each difference must be what `from` has, or the edit of a command. */
  #follow(tree: Tree, view: View, from: Tree, who: string): void {
    for (const path of new Set([...tree.keys(), ...view.keys()])) {
      const was = tree.get(path) ?? kNever;
      const is = view.get(path);
      if (was.edit.content === is) continue;
      const source = from.get(path) ?? kNever;
      expect(source.edit.content, `${who}: ${path}: ${this.#told()}`).toBe(is);
      tree.set(path, { edit: source.edit, known: new Set([...was.known, ...source.known]) });
    }
  }

  /** Whether one tree's state of a path may be replaced by another's: nothing is lost that this had not seen. */
  #mayReplace(old: Entry, by: Entry): boolean {
    if (old.edit.content === by.edit.content) return true;
    if (old.edit.content !== undefined) return by.known.has(old.edit.id);
    // A removal that the other had not seen, of what it has gone on from.
    const removed = old.edit.removed;
    if (removed === undefined || this.#moot.has(old.edit.id)) return true;
    const id = Number(removed.slice("edit-".length));
    if (!by.known.has(id)) return true;
    const same = this.#sameRemovals.find((each) => each.has(old.edit.id)) ?? [old.edit.id];
    return [...same].some((each) => by.known.has(each));
  }

  /** Two have removed a path, and a merge has found that they agree: who knows one removal knows the other. */
  #agreed(one: Entry, other: Entry): void {
    if (one.edit.content !== undefined || other.edit.content !== undefined) return;
    this.#areSame([one.edit.id, other.edit.id]);
  }

  /** A branch has taken a removal over: it is the same as those of that file which it knows. */
  #taken({ edit, known }: Entry): Entry {
    const { removed } = edit;
    const same = [...known].filter((id) => this.#removals.get(id) === removed);
    if (removed !== undefined) this.#areSame([edit.id, ...same]);
    return { edit, known };
  }

  /** Who removes what an undo has taken from the host has what the host has: a later file there is a new one. */
  #noteMoot(path: string, was: Entry, removal: Entry): void {
    const isHosts = this.#hostTree.get(path)?.edit.content === undefined;
    if (isHosts && this.#undone.has(was.edit.id)) this.#moot.add(removal.edit.id);
  }

  #areSame(removals: number[]): void {
    const ids = new Set(removals);
    const joined = this.#sameRemovals.filter((each) => [...ids].some((id) => each.has(id)));
    for (const each of joined) {
      for (const id of each) ids.add(id);
      this.#sameRemovals.splice(this.#sameRemovals.indexOf(each), 1);
    }
    this.#sameRemovals.push(ids);
  }

  #expectMerged(ours: Tree, theirs: Tree, view: View, decided: ReadonlySet<string>): Tree {
    const merged: Tree = new Map();
    for (const path of new Set([...ours.keys(), ...theirs.keys(), ...view.keys()])) {
      const our = ours.get(path) ?? kNever;
      const their = theirs.get(path) ?? kNever;
      const is = view.get(path);
      const why = `${path}: ours ${our.edit.content}, theirs ${their.edit.content}, merged ${is}: ${this.#told()}`;
      expect([our.edit.content, their.edit.content], why).toContain(is);
      const takes = is === our.edit.content ? our : their;
      const leaves = takes === our ? their : our;
      this.#agreed(our, their);
      const isDecided = [...decided].some((each) => areRelated(each, path));
      const isHosts =
        this.#madeByHost.has(leaves.edit.id) ||
        (leaves.edit.content === undefined && this.#removedByHost.has(path));
      // The host has it still: the later commit may not replace it.
      const isOnHost = leaves.edit.id === this.#hostTree.get(path)?.edit.id;
      const isLeft = isDecided || isHosts || this.#mayReplace(leaves, takes);
      expect(isLeft || isOnHost, why).toBe(true);
      const known = new Set([...takes.known, ...(isLeft ? leaves.known : [])]);
      merged.set(path, this.#taken({ edit: takes.edit, known }));
    }
    return merged;
  }

  async #step(): Promise<void> {
    const what = this.#random();
    const branch = this.#oneOf(this.#branches);
    const others = this.#branches.filter((each) => each !== branch);
    const from = others.length > 0 ? this.#oneOf(others) : undefined;
    const name = String(this.#branches.indexOf(branch));
    const other = String(this.#branches.indexOf(from as Branch));
    if (what < 0.4) await this.#edit(branch, name);
    else if (what < 0.48) await this.#hostEdits();
    else if (what < 0.58) await this.#fork(branch, name);
    else if (what < 0.76) {
      if (from) await this.#merge(branch, from, `${name} merges ${other}`);
    } else if (what < 0.79) {
      if (from) await this.#adopt(branch, from, `${name} adopts ${other}`);
    } else if (what < 0.85) await this.#commit(branch, name);
    else if (what < 0.88) await this.#undo(branch, name);
    else if (what < 0.91) await this.#checkpoint(branch, name);
    else if (what < 0.94) await this.#rollback(branch, name);
    else if (what < 0.97) await this.#drop(branch, name);
    else await this.#kill(branch, from, name);
    // What the step does not concern is as it was, or follows the host.
    for (const each of this.#branches) {
      this.#follow(
        each.tree,
        await this.#look(each),
        this.#hostTree,
        `${this.#branches.indexOf(each)}`,
      );
    }
    expect(textOf(viewOfHost(this.#host)), `the host: ${this.#told()}`).toBe(
      textOf(viewOf(this.#hostTree)),
    );
  }

  async #edit(branch: Branch, name: string): Promise<void> {
    this.#count("edits");
    const path = this.#oneOf(kPaths.slice(0, -1));
    if (this.#random() < 0.2) {
      const removed = this.#oneOf(kPaths);
      for (const each of [...viewOf(branch.tree).keys()].filter((one) => isBelow(one, removed))) {
        const was = branch.tree.get(each) ?? kNever;
        const entry = this.#edited(was, true);
        branch.tree.set(each, entry);
        this.#noteMoot(each, was, entry);
        // What the host has removed too is as the host has it: a later file is a new one.
        const host = this.#hostTree.get(each);
        if (host) this.#agreed(entry, host);
      }
      this.#log.push(`${name} removes ${removed}`);
      await run(branch.transaction, `rm -rf ${removed}`);
      return;
    }
    const entry = this.#edited(branch.tree.get(path) ?? kNever);
    branch.tree.set(path, entry);
    this.#log.push(`${name} writes ${path}: ${entry.edit.content}`);
    const how = this.#random() < 0.5 ? `> ${path}` : `> .t; mv .t ${path}`;
    const { err } = await run(
      branch.transaction,
      `mkdir -p ${dirname(path)}; echo ${entry.edit.content} ${how}`,
    );
    expect(err, this.#told()).toBe("");
  }

  async #hostEdits(): Promise<void> {
    this.#count("edits of the host");
    const path = this.#oneOf(kPaths.slice(0, -1));
    const was = this.#hostTree.get(path) ?? kNever;
    const removes = this.#random() < 0.2 && was.edit.content !== undefined;
    const entry = this.#edited(was, removes);
    this.#madeByHost.add(entry.edit.id);
    this.#hostTree.set(path, entry);
    this.#log.push(`the host ${removes ? "removes" : "writes"} ${path}: ${entry.edit.content}`);
    if (removes) this.#removedByHost.add(path);
    if (removes) rmSync(join(this.#host, path));
    else this.#putOnHost(path);
  }

  async #fork(branch: Branch, name: string): Promise<void> {
    if (this.#branches.length >= kMostBranches) return;
    this.#count("forks");
    const fork = await branch.transaction.fork();
    expect(fork.parent).toBe(branch.transaction.id);
    this.#branches.push({
      transaction: fork,
      tree: new Map(branch.tree),
      points: branch.points.map((point) => ({ ...point })),
      replaced: undefined,
    });
    this.#log.push(`${name} is forked as ${this.#branches.length - 1}`);
  }

  async #merge(branch: Branch, from: Branch, said: string): Promise<void> {
    const onConflict = this.#oneOf(["fail", "fail", "fail", "ours", "theirs"] as const);
    this.#log.push(`${said}, ${onConflict}`);
    const end = await branch.transaction
      .merge(from.transaction, { onConflict })
      .catch((error: unknown) => error);
    if (end instanceof Error) {
      expect(end, this.#told()).toBeInstanceOf(TransactionError);
      expect(end, this.#told()).toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
      this.#count("merges in conflict");
      const { paths } = end as TransactionError;
      this.#log.push(`  conflict: ${paths}`);
      expect(paths?.length, this.#told()).toBeGreaterThan(0);
      const isTrue = [...new Set([...branch.tree.keys(), ...from.tree.keys()])].some((path) => {
        const our = branch.tree.get(path) ?? kNever;
        const their = from.tree.get(path) ?? kNever;
        return !this.#mayReplace(our, their) && !this.#mayReplace(their, our);
      });
      if (!isTrue) this.#count("of these without two edits of a path");
      return;
    }
    this.#count("merges");
    const { merged, conflicts } = end as Awaited<ReturnType<Transaction["merge"]>>;
    const decided = new Set(conflicts.map(({ path }) => path));
    this.#log.push(`  merged: ${merged}; decided: ${[...decided]}`);
    branch.tree = this.#expectMerged(branch.tree, from.tree, await this.#look(branch), decided);
  }

  async #adopt(branch: Branch, from: Branch, said: string): Promise<void> {
    this.#count("adoptions");
    this.#log.push(said);
    await branch.transaction.adopt(from.transaction);
    this.#adopted(branch, from);
  }

  #adopted(branch: Branch, from: Branch): void {
    const was = branch.tree;
    branch.tree = new Map();
    for (const path of new Set([...was.keys(), ...from.tree.keys()])) {
      const our = was.get(path) ?? kNever;
      const their = from.tree.get(path) ?? kNever;
      const known = new Set([...our.known, ...their.known]);
      // What the other has never had is removed, as others may have removed it whom the other knows.
      const isRemoved = their.edit === kNever.edit && our.edit.content !== undefined;
      const entry = { edit: isRemoved ? our.edit : their.edit, known };
      const adopted = this.#taken(isRemoved ? this.#edited(entry, true) : entry);
      branch.tree.set(path, adopted);
      if (isRemoved) this.#noteMoot(path, our, adopted);
    }
  }

  #committed(branch: Branch, view: View): void {
    const replaced: Tree = new Map();
    for (const path of new Set([...this.#hostTree.keys(), ...branch.tree.keys(), ...view.keys()])) {
      const host = this.#hostTree.get(path) ?? kNever;
      const our = branch.tree.get(path) ?? kNever;
      const is = view.get(path);
      if (is === host.edit.content) continue;
      const why = `${path}: host ${host.edit.content}, ours ${our.edit.content}, now ${is}: ${this.#told()}`;
      expect(is, why).toBe(our.edit.content);
      expect(this.#isAsBegun(path, host, our) || this.#mayReplace(host, our), why).toBe(true);
      replaced.set(path, host);
      this.#hostTree.set(path, { edit: our.edit, known: new Set([...host.known, ...our.known]) });
    }
    // A commit of nothing leaves the one before to be undone.
    if (replaced.size > 0) branch.replaced = replaced;
  }

  /** Whether the host has removed what another branch's commit had brought: it has nothing there, as when ours began. */
  #isAsBegun(path: string, host: Entry, our: Entry): boolean {
    if (host.edit.content !== undefined || !this.#madeByHost.has(host.edit.id)) return false;
    const last = Math.max(0, ...[...our.known].filter((id) => this.#madeByHost.has(id)));
    return last === 0 ? ["new", "d/new", "m/one"].includes(path) : this.#removals.has(last);
  }

  async #commit(branch: Branch, name: string): Promise<void> {
    const merge = this.#random() < 0.3;
    this.#log.push(`${name} commits${merge ? ", merging" : ""}`);
    const end = await branch.transaction.commit({ merge }).catch((error: unknown) => error);
    if (end instanceof Error) {
      expect(end, this.#told()).toBeInstanceOf(TransactionError);
      expect(end, this.#told()).toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
      this.#count("commits in conflict");
      this.#log.push(`  conflict: ${(end as TransactionError).paths}`);
      return;
    }
    this.#count("commits");
    this.#committed(branch, viewOfHost(this.#host));
  }

  async #undo(branch: Branch, name: string): Promise<void> {
    if (branch.replaced === undefined) return;
    this.#log.push(`${name} undoes its commit`);
    const end = await branch.transaction.undo().catch((error: unknown) => error);
    if (end instanceof Error) {
      expect(end, this.#told()).toBeInstanceOf(TransactionError);
      this.#count("undos refused");
      return;
    }
    this.#count("undos");
    for (const [path, entry] of branch.replaced) {
      const was = this.#hostTree.get(path) ?? kNever;
      this.#hostTree.set(path, entry);
      if (entry.edit.content !== undefined || was.edit.content === undefined) continue;
      this.#undone.add(was.edit.id);
      // Who has removed what the commit had made has what the host has again.
      for (const { tree } of this.#branches) {
        const edit = tree.get(path)?.edit;
        if (edit?.removed === was.edit.content) this.#moot.add(edit.id);
      }
    }
    branch.replaced = undefined;
  }

  async #checkpoint(branch: Branch, name: string): Promise<void> {
    this.#count("checkpoints");
    const { id } = await branch.transaction.checkpoint();
    branch.points.push({ id, tree: new Map(branch.tree) });
    this.#log.push(`${name} makes the checkpoint ${id}`);
  }

  async #rollback(branch: Branch, name: string): Promise<void> {
    // A commit and an undo end those of before.
    const left = new Set((await branch.transaction.checkpoints()).map(({ id }) => id));
    branch.points = branch.points.filter(({ id }) => left.has(id));
    const point = branch.points.length > 0 ? this.#oneOf(branch.points) : undefined;
    if (point === undefined) return;
    this.#log.push(`${name} goes back to ${point.id}`);
    const end = await branch.transaction.rollback(point.id).catch((error: unknown) => error);
    if (end instanceof Error) {
      expect(end, this.#told()).toBeInstanceOf(TransactionError);
      this.#count("rollbacks refused");
      return;
    }
    this.#count("rollbacks");
    // What it had not changed then is what the host has now.
    branch.tree = new Map(point.tree);
    branch.points.splice(branch.points.indexOf(point) + 1);
  }

  async #drop(branch: Branch, name: string): Promise<void> {
    if (this.#branches.length < 2) return;
    this.#count("discards");
    this.#log.push(`${name} is discarded; those behind it move up`);
    await branch.transaction.discard();
    this.#branches.splice(this.#branches.indexOf(branch), 1);
  }

  async #kill(branch: Branch, from: Branch | undefined, name: string): Promise<void> {
    const act = this.#oneOf(
      from ? (["merge", "adopt", "commit", "fork"] as const) : (["commit", "fork"] as const),
    );
    const concerned = from ? [branch, from] : [branch];
    this.#count("kills");
    this.#log.push(
      `a host is killed while ${name} is in ${act} (${from && this.#branches.indexOf(from)})`,
    );
    for (const { transaction } of concerned) await transaction.close();
    const ids = JSON.stringify(concerned.map(({ transaction }) => transaction.id));
    const script = `
      const [one, other] = await Promise.all(${ids}.map((id) => runner.resumeTransaction(id, options)));
      begin();
      await one.${act}(${act === "merge" || act === "adopt" ? "other" : ""}).catch(() => {});
      await new Promise(() => setTimeout(() => {}, 100_000));`;
    await killedHost({ workspace: this.#host, state: this.#state }, script, this.#below(25));
    for (const each of concerned) {
      const options = { directory: this.#state };
      each.transaction = await this.#runner.resumeTransaction(each.transaction.id, options);
    }
    const view = await this.#look(branch);
    if (act === "merge" && from) {
      if (textOf(view) !== textOf(viewOf(branch.tree))) {
        this.#count("of these done");
        this.#log.push("  it is done");
        branch.tree = this.#expectMerged(branch.tree, from.tree, view, new Set());
      } else {
        // It may be done: then the branch has come from the other where they are alike.
        for (const [path, their] of from.tree) {
          const our = branch.tree.get(path) ?? kNever;
          if (our.edit.content !== their.edit.content) continue;
          const known = new Set([...our.known, ...their.known]);
          this.#agreed(our, their);
          branch.tree.set(path, this.#taken({ edit: our.edit, known }));
        }
      }
    } else if (act === "adopt" && from) {
      if (textOf(view) !== textOf(viewOf(branch.tree))) {
        this.#count("of these done");
        this.#log.push("  it is done");
        expect(textOf(view), this.#told()).toBe(textOf(viewOf(from.tree)));
        this.#adopted(branch, from);
      }
    } else if (act === "commit") {
      const host = viewOfHost(this.#host);
      if (textOf(host) !== textOf(viewOf(this.#hostTree))) {
        this.#count("of these done");
        this.#log.push("  it is done");
        const before = new Map(this.#hostTree);
        this.#committed(branch, host);
        for (const [path, entry] of branch.tree) {
          // What a copy has as it was, and the host has changed since, is no change of the copy's.
          if (!this.#mayReplace(before.get(path) ?? kNever, entry)) continue;
          expect(host.get(path), `${path}: half a commit: ${this.#told()}`).toBe(
            entry.edit.content,
          );
        }
      }
      branch.replaced = undefined;
    } else {
      for (const left of await this.#runner.transactions({ directory: this.#state })) {
        if (this.#branches.some(({ transaction }) => transaction.id === left.id)) continue;
        this.#count("of these done");
        this.#log.push("  it is done");
        const fork = await this.#runner.resumeTransaction(left.id, { directory: this.#state });
        const seen = await this.#look({ ...branch, transaction: fork });
        expect(textOf(seen), `the fork: ${this.#told()}`).toBe(textOf(viewOf(branch.tree)));
        await fork.discard();
      }
    }
  }
}

const isBelow = (path: string, directory: string) =>
  path === directory || path.startsWith(`${directory}/`);
const areRelated = (one: string, other: string) => isBelow(one, other) || isBelow(other, one);

describeSandboxed("random branches of a project", () => {
  const seed = seedOf();

  test.each(kBackends)(
    `lose no edit, ${kSteps} steps (seed ${seed}, %s)`,
    async (backend) => {
      const done: Record<string, number> = {};
      for (let left = kSteps, at = 0; left > 0; left -= kStepsOfOne, at += 1) {
        await new Workspace(seed + at, backend, done).play(Math.min(left, kStepsOfOne));
      }
      process.stderr.write(`branches and model, ${backend}: ${JSON.stringify(done)}\n`);
      for (const what of ["merges", "merges in conflict", "commits", "kills"]) {
        expect(done[what] ?? 0, `${what}: the control`).toBeGreaterThan(0);
      }
    },
    kStepsMs,
  );
});
