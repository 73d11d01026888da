/**
 * The worker's half: keeps trees of workspaces below one directory, and updates one for a run.
 *
 *   ROOT/lock                                       locked by the process that uses ROOT
 *   ROOT/runs/                                      transactions of runs
 *   ROOT/tenants/TENANT/WORKSPACE/TREE/files/       a tree; further ones for runs with other states
 *
 * Contents are shared only among trees of the same workspace of the same tenant.
 */

import { randomBytes } from "node:crypto";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { invalidValue } from "../../errors.js";
import { loadAddon } from "../../native.js";
import { askFor, distinctFiles } from "./blobs.js";
import { sizeOf } from "./content/beneath.js";
import type { FileEntry } from "./content/entry.js";
import { applied, type Bounds, type Delta, Manifest, parseDelta } from "./content/manifest.js";
import { BeganAnew, badMessage, type Exchange, type Headers, WorkspaceError } from "./exchange.js";
import { survey } from "./snapshot.js";
import { removeTree, Tree } from "./tree.js";

const kToken = /^[A-Za-z0-9_-]{1,64}$/;
const kName = /^[0-9a-f]{1,64}$/;
/** Most idle trees of one workspace. */
const kMostIdle = 4;
/** Bytes of a manifest's text per entry: a usual longest path. */
const kMostTextPerEntry = 4352;

/** A tree in which a run executes. */
export type Checkout = {
  readonly tree: Tree;
  readonly manifest: Manifest;
  readonly workspace: Workspace;
};

/** State of one workspace of one tenant. */
class Workspace {
  readonly directory: string;
  readonly trees: Tree[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.directory = directory;
  }

  /**
   * Waits for its turn to change the workspace's trees.
   * @returns a function that ends the turn
   */
  async turn(): Promise<() => void> {
    const before = this.#turn;
    let end = () => {};
    this.#turn = new Promise<void>((resolve) => {
      end = resolve;
    });
    await before;
    return end;
  }

  idle(): Tree[] {
    return this.trees.filter(({ users }) => users === 0).sort((a, b) => b.usedAt - a.usedAt);
  }

  remove(tree: Tree): void {
    const at = this.trees.indexOf(tree);
    if (at < 0) return;
    this.trees.splice(at, 1);
    tree.remove();
  }
}

function directoriesIn(directory: string, isName: RegExp): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && isName.test(entry.name))
    .map(({ name }) => name);
}

/** The trees of all workspaces. One thread. */
export class WorkspaceCache {
  /** Directory of the transactions of runs. */
  readonly runs: string;
  readonly #tenants: string;
  readonly #bounds: Bounds;
  readonly #lock: number;
  readonly #workspaces = new Map<string, Workspace>();
  #uses = 0;

  private constructor(root: string, bounds: Bounds, lock: number) {
    this.runs = join(root, "runs");
    this.#tenants = join(root, "tenants");
    this.#bounds = bounds;
    this.#lock = lock;
  }

  /**
   * Opens a cache with its existing trees; incomplete data is removed.
   * @param bounds most entries of one workspace, and most bytes of all of them together
   * @throws (rejects) WorkspaceError ERR_WORKSPACE_LOCKED if another process uses the directory; an Error of `node:fs`
   */
  static async open(root: string, bounds: Bounds): Promise<WorkspaceCache> {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const lock = openSync(join(root, "lock"), "a", 0o600);
    if (!loadAddon().lockFile(lock)) {
      closeSync(lock);
      const message = `another process has the workspaces in ${root}`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_LOCKED");
    }
    ftruncateSync(lock, 0);
    writeSync(lock, `${process.pid}\n`);
    const cache = new WorkspaceCache(root, bounds, lock);
    removeTree(cache.runs);
    mkdirSync(cache.runs, { mode: 0o700 });
    mkdirSync(cache.#tenants, { recursive: true, mode: 0o700 });
    await cache.#find();
    return cache;
  }

  /** Lets another process use the directory. */
  close(): void {
    closeSync(this.#lock);
  }

  async #find(): Promise<void> {
    for (const tenant of directoriesIn(this.#tenants, kToken)) {
      for (const key of directoriesIn(join(this.#tenants, tenant), kName)) {
        const workspace = this.#workspace(tenant, key);
        for (const id of directoriesIn(workspace.directory, kName)) {
          const tree = new Tree(workspace.directory, id);
          removeTree(join(tree.directory, "incoming"));
          const { seen } = await survey(tree.files, { ...this.#bounds, maxEntries: 2 ** 24 });
          for (const { type, stamp } of seen) if (type === "file") tree.bytes += sizeOf(stamp);
          tree.usedAt = statSync(tree.directory).mtimeMs - Date.now(); // sorts before all later uses
          workspace.trees.push(tree);
        }
      }
    }
  }

  #workspace(tenant: string, key: string): Workspace {
    const directory = join(this.#tenants, tenant, key);
    let workspace = this.#workspaces.get(directory);
    if (workspace === undefined) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      workspace = new Workspace(directory);
      this.#workspaces.set(directory, workspace);
    }
    return workspace;
  }

  /**
   * Receives the workspace of a run through an exchange.
   * @throws (rejects) WorkspaceError; the other side has received the error
   */
  async accept(tenant: string, exchange: Exchange): Promise<Checkout> {
    if (!kToken.test(tenant)) {
      throw invalidValue("Expected `tenant` to be 1 to 64 letters, digits, `_` or `-`");
    }
    try {
      for (;;) {
        try {
          return await this.#accept(tenant, exchange);
        } catch (error) {
          if (!(error instanceof BeganAnew)) throw error;
        }
      }
    } catch (error) {
      await exchange.fail(error);
      throw error;
    }
  }

  async #accept(tenant: string, exchange: Exchange): Promise<Checkout> {
    const { header } = await exchange.receive("offer");
    this.#expectRoom(header);
    const workspace = this.#workspace(tenant, header.workspace);
    const end = await workspace.turn();
    try {
      const { tree, manifest } = await this.#treeFor(workspace, header, exchange);
      tree.usedAt = ++this.#uses;
      try {
        await exchange.send({ t: "ready" });
      } catch (error) {
        tree.users -= 1;
        throw error;
      }
      return { tree, manifest, workspace };
    } finally {
      this.#dropIdle(workspace);
      end();
    }
  }

  #expectRoom({ bytes, entries }: Headers["offer"]): void {
    const { maxBytes, maxEntries } = this.#bounds;
    if (bytes <= maxBytes && entries <= maxEntries) return;
    const message = `a workspace of ${entries} entries and ${bytes} bytes, at most ${maxEntries} and ${maxBytes} are allowed here`;
    throw new WorkspaceError(message, "ERR_WORKSPACE_LIMIT");
  }

  /** Returns a tree in this state, counting the caller as a user; updates an idle tree or makes one if necessary. */
  async #treeFor(workspace: Workspace, { id }: Headers["offer"], exchange: Exchange) {
    const isKnown = workspace.trees.some(({ manifest }) => manifest?.id === id);
    if (!isKnown) for (const tree of workspace.idle()) await this.#learn(workspace, tree);
    const same = workspace.trees.find(({ manifest }) => manifest?.id === id);
    if (same?.manifest) {
      same.users += 1;
      return { tree: same, manifest: same.manifest };
    }
    const bases = workspace.trees.flatMap(({ manifest }) => (manifest ? [manifest] : []));
    await exchange.send({ t: "bases", ids: bases.map((base) => base.id).slice(0, 64) });
    const to = await this.#read(exchange, bases);
    if (to.id !== id) throw badMessage("another state than it has offered");
    const tree = workspace.idle()[0] ?? this.#another(workspace);
    tree.users += 1; // keeps the tree from being removed
    try {
      const missing = this.#missingOf(to, tree);
      const coming = missing.reduce((sum, { size }) => sum + size, 0);
      this.#makeRoom(Math.max(to.bytes, tree.bytes + coming), tree);
      await askFor(exchange, to.entries, missing, tree.manifest === Manifest.empty);
      await tree.become(to, exchange, missing);
    } catch (error) {
      tree.users -= 1;
      if (tree.manifest === undefined) workspace.remove(tree); // the change was not completed
      throw error;
    }
    return { tree, manifest: to };
  }

  /** Reads a tree, or removes it if it can't be read. */
  async #learn(workspace: Workspace, tree: Tree): Promise<void> {
    try {
      await tree.learn({ maxEntries: 2 ** 24, maxBytes: Number.MAX_SAFE_INTEGER });
    } catch {
      workspace.remove(tree);
    }
  }

  async #read(exchange: Exchange, bases: readonly Manifest[]): Promise<Manifest> {
    const { header } = await exchange.receive("text");
    if (header.bytes > this.#bounds.maxEntries * kMostTextPerEntry) {
      throw badMessage("a manifest that is too long");
    }
    const text = (await exchange.bytes(header.bytes)).toString();
    if (header.base === undefined) return Manifest.parse(text, this.#bounds);
    const base = bases.find(({ id }) => id === header.base);
    if (base === undefined) throw badMessage("what differs from a state that is not here");
    return applied(base, parseDelta(text, this.#bounds), this.#bounds);
  }

  /** Makes a tree for a run, while other runs use other states. */
  #another(workspace: Workspace): Tree {
    const tree = Tree.make(workspace.directory, randomBytes(8).toString("hex"));
    const last = workspace.trees.filter(({ manifest }) => manifest).at(-1);
    workspace.trees.push(tree);
    if (last?.manifest) tree.linkFrom(last, last.manifest);
    return tree;
  }

  #missingOf(to: Manifest, { manifest = Manifest.empty }: Tree): FileEntry[] {
    const here = new Set<string>();
    for (const entry of manifest.entries) if (entry.type === "file") here.add(entry.sha256);
    return distinctFiles(to.entries, (sha256) => here.has(sha256));
  }

  /** Removes unused trees, the least recently used first, until there is room. */
  #makeRoom(needed: number, but: Tree): void {
    const all = [...this.#workspaces.values()].flatMap((workspace) =>
      workspace.trees.filter((tree) => tree !== but).map((tree) => ({ tree, workspace })),
    );
    let used = all.reduce((sum, { tree }) => sum + tree.bytes, needed);
    all.sort((one, other) => one.tree.usedAt - other.tree.usedAt);
    for (const { tree, workspace } of all) {
      if (used <= this.#bounds.maxBytes) return;
      if (tree.users > 0) continue;
      workspace.remove(tree);
      used -= tree.bytes;
    }
    if (used <= this.#bounds.maxBytes) return;
    const message = `there is no room for ${needed} bytes besides what runs are in; ${this.#bounds.maxBytes} are allowed`;
    throw new WorkspaceError(message, "ERR_WORKSPACE_LIMIT");
  }

  #dropIdle(workspace: Workspace): void {
    for (const tree of workspace.idle().slice(kMostIdle)) workspace.remove(tree);
  }

  /**
   * Reserves the tree before a run's changes are committed to it. Returns undefined if another run uses the tree.
   * Otherwise no other run can use it until the returned function ends the turn.
   */
  async own({ tree, workspace }: Checkout): Promise<(() => void) | undefined> {
    const end = await workspace.turn();
    if (tree.users === 1) {
      tree.manifest = undefined;
      return end;
    }
    end();
    return undefined;
  }

  /**
   * Ends a run's use of a tree.
   * @param now the changes that the tree now also holds, if it was reserved
   */
  release({ tree, manifest, workspace }: Checkout, now?: Delta): void {
    tree.users -= 1;
    if (now === undefined) {
      this.#dropIdle(workspace);
      return;
    }
    tree.manifest = applied(manifest, now, this.#bounds);
    tree.bytes = tree.manifest.bytes;
  }
}
