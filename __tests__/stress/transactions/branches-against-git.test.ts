/**
 * Random histories of two branches: where git merges them, and we do, the tree is the same. NATIVE_RUNNER_CASES says how
 * many, NATIVE_RUNNER_SEED which.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  type Transaction,
  TransactionError,
} from "../../integration/support/package.js";
import { describeSandboxed, plainEnvironment } from "../../integration/support/requirements.js";
import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { kBackends, stateDirectory } from "../../integration/support/transactions.js";
import { randomOf, seedOf } from "./random.js";

const kCases = Number(process.env.NATIVE_RUNNER_CASES ?? 30);
const kCasesMs = Math.max(600_000, kCases * 2_000);

type Tree = Map<string, { lines: string[]; isExecutable: boolean }>;
type Random = () => number;

const kWords = ["alpha", "beta", "gamma", "delta", "{", "}", "", "return 0;", "return 0;"];

const below = (random: Random, end: number) => Math.floor(random() * end);

function line(random: Random): string {
  const word = kWords[below(random, kWords.length)];
  return random() < 0.5 ? `${word}` : `${word} ${below(random, 1000)}`;
}

function newTree(random: Random): Tree {
  const tree: Tree = new Map();
  for (const name of ["a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "dir/deep/e.txt", "f.txt"]) {
    const lines = Array.from({ length: 5 + below(random, 40) }, () => line(random));
    tree.set(name, { lines, isExecutable: random() < 0.2 });
  }
  return tree;
}

/** A few changes, most of them in lines. */
function changed(base: Tree, random: Random, side: string): Tree {
  const tree: Tree = new Map(
    [...base].map(([name, file]) => [name, { ...file, lines: [...file.lines] }]),
  );
  for (let left = 1 + below(random, 4); left > 0; left -= 1) {
    const names = [...tree.keys()];
    const name = names[below(random, names.length)] ?? "a.txt";
    const file = tree.get(name) ?? { lines: [], isExecutable: false };
    const { lines } = file;
    const at = below(random, lines.length + 1);
    const what = random();
    if (what < 0.35)
      lines.splice(at, 0, ...Array.from({ length: 1 + below(random, 3) }, () => line(random)));
    else if (what < 0.6) lines.splice(at, 1 + below(random, 3));
    else if (what < 0.8 && lines.length > 0) lines[Math.min(at, lines.length - 1)] = line(random);
    else if (what < 0.84) tree.delete(name);
    else if (what < 0.88)
      tree.set(`new-${side}/${below(random, 3)}`, {
        lines: [line(random), side],
        isExecutable: false,
      });
    else if (what < 0.92) file.isExecutable = !file.isExecutable;
    else if (what < 0.96) {
      tree.delete(name);
      tree.set(`moved-${side}/${below(random, 100)}`, file);
    }
  }
  return tree;
}

function addConflict(sides: Record<string, Tree>): void {
  for (const [side, tree] of Object.entries(sides)) {
    tree.set("a.txt", { lines: [`${side} alone`], isExecutable: false });
  }
}

const textOf = ({ lines }: { lines: string[] }) => lines.map((each) => `${each}\n`).join("");

/** A script that makes the one tree the other. */
function scriptOf(before: Tree, after: Tree): string {
  const words: string[] = [];
  for (const [name] of before) if (!after.has(name)) words.push(`rm '${name}'`);
  for (const [name, file] of after) {
    const was = before.get(name);
    if (was && textOf(was) === textOf(file) && was.isExecutable === file.isExecutable) continue;
    words.push(`mkdir -p '${dirname(name)}'`);
    if (!was || textOf(was) !== textOf(file))
      words.push(`cat > '${name}' << 'END'\n${textOf(file)}END`);
    words.push(`chmod ${file.isExecutable ? 755 : 644} '${name}'`);
  }
  return [...words, "true"].join("\n");
}

function put(directory: string, tree: Tree): void {
  for (const [name, file] of tree) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), textOf(file), { mode: file.isExecutable ? 0o755 : 0o644 });
  }
}

const kGit = ["-c", "user.name=A", "-c", "user.email=a@a.test", "-c", "init.defaultBranch=main"];

function git(cwd: string, ...words: string[]): { status: number | null; out: string } {
  const env = {
    ...plainEnvironment(),
    HOME: cwd,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
  };
  const { status, stdout } = spawnSync("git", [...kGit, ...words], { cwd, env, encoding: "utf8" });
  return { status, out: stdout };
}

/** What git makes of it, a line for each file; undefined where it has conflicts. */
function mergedByGit(base: Tree, ours: Tree, theirs: Tree): string | undefined {
  const repository = tempDirectory("git");
  git(repository, "init", "-q");
  const commit = (tree: Tree) => {
    for (const name of git(repository, "ls-files").out.split("\n").filter(Boolean)) {
      rmSync(join(repository, name));
    }
    put(repository, tree);
    git(repository, "add", "-A");
    git(repository, "commit", "-q", "--allow-empty", "-m", "x");
    return git(repository, "rev-parse", "HEAD").out.trim();
  };
  const first = commit(base);
  const one = commit(ours);
  git(repository, "checkout", "-q", first);
  const other = commit(theirs);
  const { status, out } = git(repository, "merge-tree", "--write-tree", one, other);
  const tree = out.split("\n")[0] ?? "";
  const listed = git(repository, "ls-tree", "-r", tree).out;
  rmSync(repository, { recursive: true });
  if (status !== 0) return undefined;
  return listed
    .split("\n")
    .filter(Boolean)
    .map((each) => each.replace(/^100(\d{3}) blob ([0-9a-f]+)\t/, "$1 $2 "))
    .sort()
    .join("\n");
}

/** The same of what commands see. */
async function seenInside(transaction: Transaction): Promise<string> {
  const script = `find . -type f -printf '%P\\n' | while IFS= read -r name; do
    printf '%s %s %s\\n' "$(stat -c %a "$name")" "$(git hash-object "$name")" "$name"; done | LC_ALL=C sort`;
  return (await run(transaction, script)).out;
}

describeSandboxed("random branches", () => {
  test.each(kBackends)(
    "become what git makes of them (%s)",
    async (backend) => {
      const seed = seedOf();
      const seen = { both: 0, onlyGit: 0, onlyOurs: 0, none: 0 };
      for (let round = 0; round < kCases; round += 1) {
        const random = randomOf(seed + round);
        const base = newTree(random);
        const ours = changed(base, random, "ours");
        const theirs = changed(base, random, "theirs");
        if (round === 0) addConflict({ ours, theirs }); // the control: the others may all be merged
        const workspace = tempDirectory();
        put(workspace, base);
        const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
        const transaction = await runner.openTransaction({ directory: stateDirectory(), backend });
        const fork = await transaction.fork();
        await run(transaction, scriptOf(base, ours));
        await run(fork, scriptOf(base, theirs));
        const wanted = mergedByGit(base, ours, theirs);
        const merged = await transaction.merge(fork).catch((error: unknown) => {
          if (error instanceof TransactionError) return undefined;
          throw error;
        });
        if (wanted !== undefined && merged !== undefined) {
          seen.both += 1;
          expect(await seenInside(transaction), `NATIVE_RUNNER_SEED=${seed + round}`).toBe(wanted);
        } else if (wanted !== undefined) seen.onlyGit += 1;
        else seen[merged === undefined ? "none" : "onlyOurs"] += 1;
        await fork.discard();
        await transaction.discard();
        await runner.close();
        rmSync(workspace, { recursive: true });
      }
      process.stderr.write(`branches and git, ${backend}: ${JSON.stringify(seen)}\n`);
      expect(seen.both).toBeGreaterThan(kCases / 2);
      expect(seen.none, "the control").toBeGreaterThan(0);
    },
    kCasesMs,
  );
});
