/**
 * The host and commands change the same few files at random, one after the other or at once: nothing of
 * the host's is ever lost or overwritten without a conflict, and what is committed is what the commands
 * have made. NATIVE_RUNNER_CASES says how many, NATIVE_RUNNER_SEED which.
 */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import {
  type Change,
  type Transaction,
  TransactionError,
} from "../../integration/support/package.js";
import { describeSandboxed } from "../../integration/support/requirements.js";
import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { openTransaction } from "../../integration/support/transactions.js";
import { manifestOf } from "../../integration/transaction/hostile/compare-trees.js";
import { randomOf, seedOf } from "./random.js";

const kCases = Number(process.env.NATIVE_RUNNER_CASES ?? 15);
const kFiles = ["a", "b", "new", "d/x", "d/y", "d/new", "d/e/z", "d/e/new", "m/one"];
const kDirectories = ["d", "d/e", "m"];

type Random = () => number;
const oneOf = <T>(random: Random, list: readonly T[]): T =>
  list[Math.floor(random() * list.length)] as T;

/** Does it, and gives the paths that it may have touched; none where it can't be done. */
type HostAct = (at: string, path: string, tag: string) => void;

const inWorkspace =
  (act: (full: string, tag: string) => void): HostAct =>
  (at, path, tag) =>
    act(join(at, path), tag);

const replace: HostAct = (at, path, tag) => {
  writeFileSync(join(at, ".tmp"), tag);
  renameSync(join(at, ".tmp"), join(at, path));
};

const kHostActs: Record<string, HostAct> = {
  "writes in place": inWorkspace((full, tag) => writeFileSync(full, tag)),
  replaces: replace,
  removes: inWorkspace((full) => rmSync(full, { recursive: true })),
  "changes the mode of": inWorkspace((full) => chmodSync(full, 0o751)),
  "puts a link in the place of": inWorkspace((full, tag) => {
    rmSync(full, { recursive: true, force: true });
    symlinkSync(tag, full);
  }),
  "puts a directory in the place of": inWorkspace((full, tag) => {
    rmSync(full, { recursive: true, force: true });
    mkdirSync(full);
    writeFileSync(join(full, "one"), tag);
  }),
};

const kCommandActs: Record<string, (path: string, tag: string) => string> = {
  "writes in place": (path, tag) => `echo ${tag} > ${path}`,
  replaces: (path, tag) => `echo ${tag} > .t && mv -T .t ${path}; rm -f .t`,
  removes: (path) => `rm -r ${path}`,
  "changes the mode of": (path) => `chmod 700 ${path}`,
  "puts a link in the place of": (path, tag) => `rm -rf ${path}; ln -s ${tag} ${path}`,
  "puts a directory in the place of": (path, tag) =>
    `rm -rf ${path}; mkdir ${path}; echo ${tag} > ${path}/one`,
  "makes directories for": (path, tag) => `mkdir -p $(dirname ${path}); echo ${tag} > ${path}`,
};

function workspaceOfFew(): string {
  const workspace = tempDirectory();
  for (const path of kFiles.filter((each) => !each.includes("new"))) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), `host ${path}\n`);
  }
  return workspace;
}

const covers = (one: string, path: string) => path === one || path.startsWith(`${one}/`);

/** By path, all that is known of it. */
function byPath(lines: readonly string[]): Map<string, string> {
  const tree = new Map<string, string>();
  for (const line of lines) {
    const [, known = "", path = ""] = /^(.*?\s+)(?:\.\/)?((?:[^ ]+)?)$/s.exec(line) ?? [];
    tree.set(path, `${tree.get(path) ?? ""}${known}`);
  }
  return tree;
}

/** What the transaction's commands see, in the same words. */
async function seenInside(transaction: Transaction): Promise<Map<string, string>> {
  const script =
    "find . -printf '%y %#m %U:%G %l %P\\0'; find . -type f -readable -exec sha256sum -z {} +";
  return byPath((await run(transaction, script)).out.split("\0").filter(Boolean).sort());
}

class Case {
  readonly #log: string[] = [];
  /** When a path was first one of the changes, whether the host had it then, and when the host last touched it. */
  readonly #since = new Map<string, { step: number; wasThere: boolean }>();
  readonly #touched = new Map<string, number>();
  readonly #random: Random;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = randomOf(seed);
  }

  async play(): Promise<"committed" | "conflict" | "nothing"> {
    const workspace = workspaceOfFew();
    const { transaction } = await openTransaction(workspace);
    const steps = 2 + Math.floor(this.#random() * 6);
    for (let step = 1; step <= steps; step += 1) {
      if (this.#random() < 0.4) this.#hostActs(workspace, step);
      else await this.#commandActs(workspace, transaction, step);
    }
    const end = await this.#settle(workspace, transaction);
    await transaction.discard();
    return end;
  }

  #path(): string {
    return oneOf(this.#random, this.#random() < 0.75 ? kFiles : kDirectories);
  }

  #hostActs(workspace: string, step: number): void {
    const [what, act] = oneOf(this.#random, Object.entries(kHostActs));
    const path = this.#path();
    const before = manifestOf(workspace);
    try {
      act(workspace, path, `host-${step}`);
    } catch {
      rmSync(join(workspace, ".tmp"), { force: true });
    }
    const was = byPath(before);
    const is = byPath(manifestOf(workspace));
    const changed = [...new Set([...was.keys(), ...is.keys()])].filter(
      (each) => was.get(each) !== is.get(each),
    );
    for (const each of changed) this.#touched.set(each, step);
    this.#log.push(`${step}: the host ${what} ${path}: ${changed.join(" ")}`);
  }

  async #commandActs(workspace: string, transaction: Transaction, step: number): Promise<void> {
    const [what, script] = oneOf(this.#random, Object.entries(kCommandActs));
    const path = this.#path();
    await run(transaction, script(path, `mine-${step}`));
    const changes = await transaction.changes();
    const paths = new Set(changes.map((change) => change.path));
    for (const each of this.#since.keys()) if (!paths.has(each)) this.#since.delete(each);
    const there = byPath(manifestOf(workspace));
    for (const each of paths) {
      if (!this.#since.has(each)) this.#since.set(each, { step, wasThere: there.has(each) });
    }
    this.#log.push(`${step}: a command ${what} ${path}: ${[...paths].join(" ")}`);
  }

  #reported(): string {
    return `seed ${this.#seed}\n${this.#log.join("\n")}`;
  }

  async #settle(workspace: string, transaction: Transaction) {
    const changes = await transaction.changes();
    const there = byPath(manifestOf(workspace));
    for (const { path, conflict } of changes) {
      const since = this.#since.get(path);
      if (since === undefined || (this.#touched.get(path) ?? 0) <= since.step) continue;
      // What the host has made and removed since has left nothing that a commit could lose.
      if (!since.wasThere && !there.has(path)) continue;
      expect(conflict, `${path}: ${this.#reported()}`).toBe(true);
    }
    const conflicts = changes.filter(({ conflict }) => conflict);
    const before = manifestOf(workspace);
    const inside = await seenInside(transaction);
    let wanted: Change[] = changes;
    if (conflicts.length > 0) {
      const refused = await transaction.commit().catch((error: unknown) => error);
      expect(refused, this.#reported()).toBeInstanceOf(TransactionError);
      expect(manifestOf(workspace), this.#reported()).toEqual(before);
      const isFree = ({ path }: Change) =>
        !conflicts.some((other) => covers(other.path, path) || covers(path, other.path));
      wanted = changes.filter(isFree);
    }
    if (wanted.length === 0) return "nothing";
    const paths = wanted.map(({ path }) => path);
    const end = await transaction.commit({ paths }).catch((error: unknown) => error);
    if (end instanceof Error) {
      expect(end, this.#reported()).toBeInstanceOf(TransactionError);
      expect(manifestOf(workspace), this.#reported()).toEqual(before);
      return "conflict";
    }
    const { committed } = end as Awaited<ReturnType<Transaction["commit"]>>;
    this.#expectCommitted(workspace, committed, byPath(before), inside);
    if (committed.length > 0) {
      await transaction.undo();
      expect(manifestOf(workspace), this.#reported()).toEqual(before);
    }
    return "committed";
  }

  #expectCommitted(
    workspace: string,
    committed: readonly Change[],
    before: Map<string, string>,
    inside: Map<string, string>,
  ): void {
    const after = byPath(manifestOf(workspace));
    const done = new Map(
      committed.map((change) => [change.path === "." ? "" : change.path, change]),
    );
    for (const path of new Set([...before.keys(), ...after.keys()])) {
      const source = done.has(path) ? inside : before;
      expect(after.get(path), `${path}: ${this.#reported()}`).toBe(source.get(path));
    }
    for (const [path, { kind }] of done) {
      expect(after.has(path), `${path}: ${this.#reported()}`).toBe(kind !== "deleted");
    }
  }
}

/** Whether it could be done: what is not there, or not yet, can't be removed. */
function hostDoes(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "ENOENT" });
    return false;
  }
}

describeSandboxed("the host and commands", () => {
  const seed = seedOf();

  test(`one after the other, ${kCases} times (seed ${seed})`, async () => {
    const ends = { committed: 0, conflict: 0, nothing: 0 };
    for (let index = 0; index < kCases; index += 1) {
      ends[await new Case(seed + index).play()] += 1;
    }
    process.stdout.write(`one after the other: ${JSON.stringify(ends)}\n`);
    expect(ends.committed, JSON.stringify(ends)).toBeGreaterThan(0);
  });

  test(`at once, ${kCases} times (seed ${seed})`, async () => {
    const ends = { done: 0, refused: 0 };
    for (let index = 0; index < kCases; index += 1) {
      const random = randomOf(seed + index);
      const workspace = tempDirectory();
      const names = Array.from({ length: 30 }, (_, at) => `f${at}`);
      for (const name of names) writeFileSync(join(workspace, name), "host\n");
      const { transaction } = await openTransaction(workspace);
      await run(transaction, "for f in f*; do echo mine > $f; done; echo mine > made");
      await transaction.changes();

      let isSettled = false;
      const committing = transaction
        .commit()
        .catch((error: Error & { code?: string }) => error)
        .finally(() => {
          isSettled = true;
        });
      const last = new Map<string, string | undefined>();
      let left = index === 0 ? 0 : Math.floor(random() * 4); // of some commits none, as of the first
      for (let act = 0; !isSettled; act += 1) {
        const name = oneOf(random, [...names, "made"]);
        const full = join(workspace, name);
        if (left > 0 && random() < 0.002) {
          left -= 1;
          const tag = random() < 0.8 ? `host-${act}` : undefined;
          if (hostDoes(() => (tag === undefined ? rmSync(full) : replace(workspace, name, tag)))) {
            last.set(name, tag);
          }
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      const end = await committing;
      ends[end instanceof Error ? "refused" : "done"] += 1;
      if (end instanceof Error) {
        const { code } = end as Error & { code?: string };
        expect(["ERR_TRANSACTION_CONFLICT", "ERR_SANDBOX_SETUP"]).toContain(code);
      }
      const reported = `seed ${seed + index}, ${end instanceof Error ? end.message : "done"}`;
      for (const name of [...names, "made"]) {
        const full = join(workspace, name);
        const now = existsSync(full) ? readFileSync(full, "utf8") : undefined;
        const untouched =
          end instanceof Error ? (name === "made" ? undefined : "host\n") : "mine\n";
        expect(now, `${name}: ${reported}`).toBe(last.has(name) ? last.get(name) : untouched);
      }
      for (const name of readdirSync(workspace))
        expect([...names, "made"], reported).toContain(name);
      await transaction.close();
    }
    process.stdout.write(`at once: ${JSON.stringify(ends)}\n`);
    expect(ends.done, JSON.stringify(ends)).toBeGreaterThan(0);
  });
});
