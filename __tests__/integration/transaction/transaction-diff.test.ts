/** A transaction's diff is one that git applies: the tree is then what the commands have made of it. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kUtf8Names, whyNotHere } from "../other-hosts/this-engine.js";
import {
  describeSandboxed,
  describeUnless,
  testUnless,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { openTransaction } from "../support/transactions.js";
import { changedCopy, copyOf, kScripts, workspaceWithAll } from "./tree-scripts.js";

const whyNoGit = spawnSync("git", ["--version"]).status === 0 ? undefined : "there is no git";

/** What git keeps of a tree: files with their contents and whether they can be executed, and links. */
function gitTree(directory: string): Record<string, string> {
  const tree: Record<string, string> = {};
  const waiting = [Buffer.from(directory)];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const status = lstatSync(at);
    const name = at.subarray(directory.length).toString("latin1");
    if (status.isSymbolicLink()) tree[name] = `link ${readlinkSync(at)}`;
    if (status.isFile()) {
      const hash = createHash("sha1").update(readFileSync(at)).digest("hex");
      tree[name] = `${(status.mode & 0o100) === 0 ? "file" : "program"} ${hash}`;
    }
    if (!status.isDirectory()) continue;
    for (const entry of readdirSync(at, { encoding: "buffer" })) {
      waiting.push(Buffer.concat([at, Buffer.from("/"), entry]));
    }
  }
  return tree;
}

/** A copy of the workspace to which git has applied the text. */
function applied(workspace: string, diff: string, ...options: string[]): string {
  const copy = copyOf(workspace);
  if (diff !== "") {
    const words = ["apply", "--whitespace=nowarn", ...options];
    const git = spawnSync("git", words, { cwd: copy, input: diff, encoding: "utf8" });
    expect(git, diff.slice(0, 2000)).toMatchObject({ status: 0, stderr: "" });
  }
  return copy;
}

async function expectApplies(workspace: string, script: string): Promise<string> {
  const { transaction } = await openTransaction(workspace);
  expect(await run(transaction, script)).toMatchObject({ err: "", exitCode: 0 });
  const diff = await transaction.diff();
  const changed = gitTree(await changedCopy(workspace, script));
  const made = applied(workspace, diff);
  expect(gitTree(made)).toEqual(changed);
  expect(gitTree(applied(made, diff, "--reverse"))).toEqual(gitTree(workspace));
  await transaction.discard();
  return diff;
}

/** Git reads no file that its user may not, and a patch has all of what is in a hole. */
const kNotForGit = ["unreadable files", "holes"];
const kReadable = kScripts.filter(([name]) => !kNotForGit.includes(name));

const kMore: [string, string][] = [
  ["no newline at the end", "printf x > a; printf 'b\\nb' > b; printf '' > c; printf 1 > new"],
  ["an end without newline before", "printf 'c\\nmore' > c"],
  ["empty files", ": > empty.txt; : > dir/x; rm other/o"],
  ["bytes of all values", "printf '\\000\\001\\377' > a; head -c 200000 /dev/urandom > random"],
  ["text that is no UTF-8", "printf 'caf\\351\\n' > a; printf '\\355\\240\\200\\n' > b"],
  ["text that is UTF-8", "printf 'caf\\303\\251\\n\\360\\237\\230\\200\\n' > a"],
  ["a binary file's mode", "printf '\\000' > a; chmod 755 a"],
  ["carriage returns", "printf 'a\\r\\nb\\r\\n' > a"],
  ["blanks at the end", "printf 'a  \\n\\t\\n\\n\\n' > a"],
  ["a directory with such a name", "mkdir ' d '; printf 'x\\n' > ' d /e f'"],
];

describeUnless(whyNoBubblewrap ?? whyNoGit, "a transaction's diff", () => {
  test.each([...kReadable, ...kMore])("%s", async (name, script) => {
    // What is random is made once.
    if (script.includes("urandom")) {
      const { transaction, workspace } = await openTransaction(workspaceWithAll());
      await run(transaction, script);
      const made = applied(workspace, await transaction.diff());
      const sums = "sha1sum a random";
      const outside = spawnSync("sh", ["-c", sums], { cwd: made, encoding: "utf8" });
      expect((await run(transaction, sums)).out).toBe(outside.stdout.trim());
      await transaction.discard();
      return;
    }
    expect(await expectApplies(workspaceWithAll(), script), name).toBeTypeOf("string");
  });

  testUnless(whyNotHere(kUtf8Names), "names with bytes of all kinds", async () => {
    await expectApplies(workspaceWithAll(), 'printf x > "$(printf \'q\\377\\001\\t\\\\ "\')"');
  });

  test("tells of another name in two lines, whatever is in the file", async () => {
    const workspace = workspaceWithAll();
    writeFileSync(join(workspace, "binary"), Buffer.from([0, 255, 0, 1]));
    const script = "mv binary 'b 2'; chmod 755 'b 2'; mv dir/x other/x; mv b 'b\n'; rm c";
    const diff = await expectApplies(workspace, script.replace("\\n", "\n"));
    expect(diff).toContain(
      'diff --git a/binary "b/b 2"\nold mode 100644\nnew mode 100755\n' +
        'similarity index 100%\nrename from binary\nrename to "b 2"\n',
    );
    expect(diff).toContain('rename from b\nrename to "b\\012"\n');
    expect(diff).toContain("rename from dir/x\nrename to other/x\n");
    expect(diff).toContain("deleted file mode 100644\n--- a/c\n");
    const { transaction } = await openTransaction(workspace);
    await run(transaction, script);
    expect(await transaction.diff({ paths: ["other"] })).toContain("+++ b/other/x\n");
    expect(await transaction.diff({ paths: ["dir"] })).toContain("--- a/dir/x\n");
    expect(await transaction.diff({ maxBytes: 1000 })).toBe(diff);
    await transaction.discard();
  });

  /** Files of many lines, some alike, changed here and there; the same for one seed. */
  function lines(seed: number): { before: string; after: string } {
    let state = seed;
    const next = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 1;
      return (state >>> 8) % below;
    };
    const count = next(400);
    const kinds = 1 + next(60);
    const before = Array.from({ length: count }, () => `line ${next(kinds)}\n`);
    const after = [...before];
    for (let left = next(40); left > 0; left -= 1) {
      const at = next(after.length + 1);
      const how = next(4);
      if (how === 0) after.splice(at, next(10));
      else if (how === 1) after.splice(at, 0, `new ${next(9)}\n`);
      else if (how === 2) after.splice(at, 1, `other ${next(9)}\n`);
      else after.push(...after.splice(at, next(20)));
    }
    return { before: before.join(""), after: after.join("") };
  }

  test("random texts", async () => {
    const workspace = tempDirectory();
    const news = tempDirectory();
    for (let seed = 1; seed <= 150; seed += 1) {
      const { before, after } = lines(seed);
      writeFileSync(join(workspace, `f${seed}`), before);
      writeFileSync(join(news, `f${seed}`), after);
    }
    const { transaction } = await openTransaction(workspace, {
      roBinds: ["/usr", "/bin", "/lib", "/lib64", "/etc", news],
    });
    await run(transaction, `cp ${news}/* .`);
    const diff = await transaction.diff();
    expect(gitTree(applied(workspace, diff))).toEqual(gitTree(news));
    const git = spawnSync("git", ["diff", "--no-index", workspace, news], { encoding: "utf8" });
    const changed = (text: string) => text.split("\n").filter((line) => /^[+-]/.test(line)).length;
    expect(changed(diff)).toBeLessThan(1.5 * changed(git.stdout)); // short, if not the shortest
    await transaction.discard();
  });

  test("many lines, of which all or some differ", async () => {
    const workspace = tempDirectory();
    const count = 50_000;
    writeFileSync(join(workspace, "all"), "old\n".repeat(count));
    writeFileSync(
      join(workspace, "some"),
      Array.from({ length: count }, (_, i) => `${i}\n`).join(""),
    );
    await expectApplies(
      workspace,
      `sed -i s/old/new/ all; sed -i -e '1~7d' -e '1~5s/^/x/' some; seq 30000 | awk '{print $1 % 7}' > mixed`,
    );
  });

  test("is bounded before a file is read that can't fit", async () => {
    const { transaction } = await openTransaction();
    await run(transaction, "truncate -s 100G hole");
    const refused = { code: "ERR_OUT_OF_RANGE", message: expect.stringContaining("maxBytes") };
    await expect(transaction.diff()).rejects.toMatchObject(refused);
    await transaction.discard();
  });

  test("is bounded by maxBytes, and told of some paths", async () => {
    const { transaction } = await openTransaction(workspaceWithAll());
    await run(transaction, "yes | head -c 100000 > big; echo 1 >> a; echo 1 >> dir/x");
    const all = await transaction.diff();
    const size = Buffer.byteLength(all);
    expect(await transaction.diff({ maxBytes: size })).toBe(all);
    const refused = { code: "ERR_OUT_OF_RANGE", name: "RangeError" };
    await expect(transaction.diff({ maxBytes: size - 1 })).rejects.toMatchObject(refused);
    expect(await transaction.diff({ paths: ["a"], maxBytes: 200 })).toBe(
      "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,2 @@\n a\n+1\n",
    );
    expect(await transaction.diff({ paths: ["dir", "missing"] })).toContain("b/dir/x");
    for (const maxBytes of [-1, 1.5, Number.NaN, 2 ** 40]) {
      await expect(transaction.diff({ maxBytes }), String(maxBytes)).rejects.toMatchObject(refused);
    }
    await transaction.discard();
    await expect(transaction.diff()).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
  });
});

describeSandboxed("a diff without a change", () => {
  test("is empty", async () => {
    const { transaction } = await openTransaction(workspaceWithAll());
    await run(transaction, "touch a; mkdir only; mkfifo pipe; chmod 600 b");
    expect(await transaction.changes()).not.toEqual([]);
    expect(await transaction.diff()).toBe("");
    await transaction.discard();
  });
});
