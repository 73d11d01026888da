/**
 * The host and commands change the same few files at random, one after the other or at once: nothing of
 * the host's is ever lost or overwritten without a conflict, and what is committed is what the commands
 * have made. Files have hard links and are mapped, transactions are closed and resumed, and root has all that on a disk
 * with coarse times and changing device numbers too. NATIVE_RUNNER_CASES says how many, NATIVE_RUNNER_SEED which.
 */

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  type BubblewrapNativeRunner,
  type Change,
  type Transaction,
  TransactionError,
} from "../../integration/support/package.js";
import { buildProbe } from "../../integration/support/probe.js";
import { describeSandboxed, testUnless } from "../../integration/support/requirements.js";
import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { openTransaction } from "../../integration/support/transactions.js";
import { manifestOf } from "../../integration/transaction/hostile/compare-trees.js";
import {
  kCommandActs,
  kDirectories,
  kFiles,
  kHostActs,
  replace,
  workspaceOfFew,
} from "./model/acts.js";
import { CoarseDisk, runOnCoarseDisk, whyNoCoarseDisk } from "./model/coarse-disk.js";
import { MappedFile } from "./model/mapped-file.js";
import { randomOf, seedOf } from "./random.js";

const kCases = Number(process.env.NATIVE_RUNNER_CASES ?? 15);
/** Far more than they take: what hangs ends. */
const kCasesMs = Math.max(600_000, kCases * 5_000);
type Random = () => number;
const oneOf = <T>(random: Random, list: readonly T[]): T =>
  list[Math.floor(random() * list.length)] as T;

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

let probe = "";
let disk: CoarseDisk | undefined;
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
  disk = CoarseDisk.here();
});
afterAll(() => disk?.end());

type End = "committed" | "conflict" | "nothing";

class Case {
  readonly #log: string[] = [];
  /** When a path was first one of the changes, whether the host had it then, and when the host last touched it. */
  readonly #since = new Map<string, { step: number; wasThere: boolean }>();
  /** What the transaction has removed, by the last look. */
  #removed = new Set<string>();
  /** What the commands were given as a copy; undefined: they see the host's files. */
  #copied: Map<string, string> | undefined;
  readonly #touched = new Map<string, number>();
  readonly #random: Random;
  readonly #seed: number;
  #workspace = "";
  #mapped: MappedFile | undefined;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = randomOf(seed);
  }

  async play(): Promise<End> {
    const workspace = workspaceOfFew(disk?.directory);
    this.#workspace = workspace;
    if (this.#random() < 0.5) await this.#map();
    const state = tempDirectory("state", disk?.directory);
    const mounts = [{ hostPath: dirname(probe), mode: "ro" as const }];
    const backend = oneOf(this.#random, ["auto", "copy"] as const);
    this.#log.push(`by ${backend}`);
    if (backend === "copy") this.#copied = byPath(manifestOf(workspace));
    const { runner, ...opened } = await openTransaction(workspace, { mounts }, backend, state);
    let { transaction } = opened;
    try {
      const steps = 2 + Math.floor(this.#random() * 6);
      for (let step = 1; step <= steps; step += 1) {
        const what = this.#random();
        if (what < 0.15) transaction = await this.#resumed(runner, transaction, state, step);
        else if (what < 0.5) await this.#hostActs(step);
        else await this.#commandActs(transaction, step);
      }
      return await this.#settle(transaction);
    } finally {
      await this.#mapped?.end();
      await transaction.discard();
      await runner.close();
    }
  }

  async #map(): Promise<void> {
    const path = oneOf(this.#random, ["a", "b", "d/x"]);
    this.#mapped = new MappedFile(probe, join(this.#workspace, path));
    await this.#mapped.begun();
    this.#log.push(`the host has ${path} mapped`);
  }

  async #resumed(
    runner: BubblewrapNativeRunner,
    transaction: Transaction,
    directory: string,
    step: number,
  ): Promise<Transaction> {
    await transaction.close();
    this.#log.push(`${step}: it is closed and resumed`);
    if (disk !== undefined) {
      await this.#mapped?.end();
      this.#mapped = undefined;
      await disk.renumber();
    }
    return runner.resumeTransaction(transaction.id, { directory });
  }

  #path(): string {
    return oneOf(this.#random, this.#random() < 0.75 ? kFiles : kDirectories);
  }

  async #hostActs(step: number): Promise<void> {
    const workspace = this.#workspace;
    const [what, act] = oneOf(this.#random, Object.entries(kHostActs));
    const path = this.#path();
    const before = manifestOf(workspace);
    const isMapped = this.#mapped !== undefined && this.#random() < 0.4;
    try {
      if (isMapped) await this.#mapped?.write();
      else act(workspace, path, `host-${step}`);
    } catch {
      rmSync(join(workspace, ".tmp"), { force: true });
    }
    const was = byPath(before);
    const is = byPath(manifestOf(workspace));
    const changed = [...new Set([...was.keys(), ...is.keys()])].filter(
      (each) => was.get(each) !== is.get(each),
    );
    for (const each of changed) {
      this.#touched.set(each, step);
      // Both have removed it: what a command makes there from now on is a change of its own.
      if (this.#removed.has(each) && !is.has(each)) this.#since.delete(each);
    }
    const done = isMapped ? "writes through its mapping" : `${what} ${path}`;
    this.#log.push(`${step}: the host ${done}: ${changed.join(" ")}`);
  }

  async #commandActs(transaction: Transaction, step: number): Promise<void> {
    const [what, script] = oneOf(this.#random, Object.entries(kCommandActs));
    const path = this.#path();
    await run(transaction, `PROBE=${probe}; ${script(path, `mine-${step}`)}`);
    const changes = await transaction.changes();
    const paths = new Set(changes.map((change) => change.path));
    this.#removed = new Set(
      changes.filter(({ kind }) => kind === "deleted").map((change) => change.path),
    );
    for (const each of this.#since.keys()) if (!paths.has(each)) this.#since.delete(each);
    const there = byPath(manifestOf(this.#workspace));
    for (const each of paths) {
      // Commands see nothing of the host's since they were given a copy.
      const wasThere = (this.#copied ?? there).has(each);
      if (!this.#since.has(each)) this.#since.set(each, { step, wasThere });
    }
    this.#log.push(`${step}: a command ${what} ${path}: ${[...paths].join(" ")}`);
  }

  #reported(): string {
    return `seed ${this.#seed}\n${this.#log.join("\n")}`;
  }

  async #settle(transaction: Transaction): Promise<End> {
    const workspace = this.#workspace;
    const changes = await transaction.changes({ details: true });
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
    let wanted: typeof changes = changes;
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
    const expected = this.#random() < 0.5 ? { expected: wanted } : {};
    const end = await transaction.commit({ paths, ...expected }).catch((error: unknown) => error);
    if (end instanceof Error) {
      expect(end, this.#reported()).toBeInstanceOf(TransactionError);
      // What was seen is what is there: nothing has run since.
      expect(end, this.#reported()).not.toMatchObject({ code: "ERR_TRANSACTION_UNEXPECTED" });
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
    // A rename is one change of two paths.
    const done = new Map<string, Pick<Change, "kind">>(
      committed.flatMap(({ path, from, kind }) => [
        [path === "." ? "" : path, { kind }],
        ...(from === undefined ? [] : ([[from, { kind: "deleted" }]] as const)),
      ]),
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

  test(
    `one after the other, ${kCases} times (seed ${seed})`,
    async () => {
      const where = disk === undefined ? "one after the other" : "on a disk with coarse times";
      const ends = { committed: 0, conflict: 0, nothing: 0 };
      for (let index = 0; index < kCases; index += 1) {
        ends[await new Case(seed + index).play()] += 1;
      }
      process.stdout.write(`${where}: seed ${seed}: ${JSON.stringify(ends)}\n`);
      expect(ends.committed, JSON.stringify(ends)).toBeGreaterThan(0);
    },
    kCasesMs,
  );

  if (CoarseDisk.isHere) return;

  testUnless(
    whyNoCoarseDisk(),
    `on a disk with coarse times and changing numbers, ${kCases} times (seed ${seed})`,
    async () => {
      const stdout = await runOnCoarseDisk(fileURLToPath(import.meta.url), {
        NATIVE_RUNNER_SEED: String(seed),
        NATIVE_RUNNER_CASES: String(kCases),
      });
      expect(stdout).toMatch(/on a disk with coarse times: /);
      process.stdout.write(stdout);
    },
    kCasesMs,
  );

  test(
    `at once, ${kCases} times (seed ${seed})`,
    async () => {
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
            if (
              hostDoes(() => (tag === undefined ? rmSync(full) : replace(workspace, name, tag)))
            ) {
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
      process.stdout.write(`at once: seed ${seed}: ${JSON.stringify(ends)}\n`);
      expect(ends.done, JSON.stringify(ends)).toBeGreaterThan(0);
    },
    kCasesMs,
  );
});
