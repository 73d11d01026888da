/** Bwrap in a transaction: what commands change waits, and what protects a project refuses the commit. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { treeOf } from "../../support/tree-of.js";
import { BubblewrapNativeRunner, Bwrap, type BwrapOptions } from "../support/package.js";
import { describeUnless, whyNoBindFd } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

let project: string;
let state: string;

beforeEach(() => {
  const top = tempDirectory();
  project = join(top, "project");
  state = join(top, "state");
  mkdirSync(project);
  mkdirSync(state, { mode: 0o700 });
  writeFileSync(join(project, "a"), "one\n");
});

const make = (options: BwrapOptions = {}) =>
  new Bwrap(project, [], false, { transaction: { directory: state }, ...options });

const read = (name: string) => readFileSync(join(project, name), "utf8");
const waiting = () => readdirSync(state).length;

describeUnless(whyNoBindFd, "Bwrap in a transaction", () => {
  test("keeps what commands change from the project, and shows it to later ones", async () => {
    const before = treeOf(project);
    const bwrap = make();
    expect(waiting()).toBe(0);
    expect(await bwrap.exec("pwd; echo two > a; mkdir d; echo new > d/b; cat a")).toBe(
      `${project}\ntwo\n`,
    );
    expect(await bwrap.exec("cat a d/b")).toBe("two\nnew\n");
    expect(treeOf(project)).toEqual(before);
    const transaction = await bwrap.transaction();
    expect((await transaction.changes()).map(({ path }) => path)).toEqual(["a", "d", "d/b"]);
    expect(await transaction.files.readText("a")).toBe("two\n");
    expect((await transaction.exec({ argv: ["cat", "/workspace/a"] })).stdoutText).toBe("two\n");
    await transaction.discard();
    expect(waiting()).toBe(0);
  });

  test("holds to all else that a Bwrap promises", async () => {
    writeFileSync(join(project, "secret"), "PRIVATE\n");
    const bwrap = make({ secrets: [join(project, "secret")] });
    expect(await bwrap.exec("cat secret; echo x > ../beside")).not.toContain("PRIVATE");
    expect(existsSync(join(project, "../beside"))).toBe(false);
    expect(await bwrap.exec(`touch ${state}/x 2>&1`)).toMatch(/Exit code: 1$/);
    await (await bwrap.transaction()).discard();
    const open = new Bwrap(project);
    expect(await open.exec("cat secret"), "the control").toContain("PRIVATE");
  });

  test("is committed, goes on, and is undone", async () => {
    const bwrap = make();
    await bwrap.exec("echo two > a; echo new > b");
    await (await bwrap.transaction()).commit();
    expect([read("a"), read("b")]).toEqual(["two\n", "new\n"]);
    expect(await bwrap.exec("cat a; echo three > a; cat a")).toBe("two\nthree\n");
    expect(read("a")).toBe("two\n");
    await (await bwrap.transaction()).commit();
    expect(read("a")).toBe("three\n");
    await (await bwrap.transaction()).undo();
    expect(read("a")).toBe("two\n");
    expect(await bwrap.exec("cat a")).toBe("three\n");
    await (await bwrap.transaction()).discard();
    expect(await bwrap.exec("cat a")).toBe("two\n");
    await (await bwrap.transaction()).discard();
  });

  test("lets commands change what is protected, and its commit refuses that", async () => {
    execFileSync("git", ["init", "-q", project]);
    const bwrap = make();
    expect(await bwrap.exec("echo x > .git/hooks/pre-commit; echo y > .envrc; echo z > a")).toBe(
      "",
    );
    const transaction = await bwrap.transaction();
    await expect(transaction.commit()).rejects.toMatchObject({
      code: "ERR_TRANSACTION_PROTECTED",
      paths: [".envrc", ".git/hooks/pre-commit"],
    });
    expect(existsSync(join(project, ".envrc"))).toBe(false);
    await transaction.commit({ allowProtected: [".envrc"], paths: [".envrc", "a"] });
    expect([read(".envrc"), read("a")]).toEqual(["y\n", "z\n"]);
    await (await bwrap.transaction()).discard();
    // The control: without a transaction the same command can't.
    const direct = await new Bwrap(project).exec("echo x > .git/hooks/pre-commit");
    expect(direct).toMatch(/Exit code: [12]$/);
  });

  test.each([
    [["kept"], "kept/deep"],
    [["./kept/"], "kept/deep"],
    [["sub//kept"], "sub/kept"],
  ])("protects what its own list %j names", async (readOnly, path) => {
    const bwrap = make({ readOnly });
    await bwrap.exec(`mkdir -p "$(dirname ${path})"; echo x > ${path}; echo y > .envrc`);
    const transaction = await bwrap.transaction();
    const refused = await transaction.commit().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "ERR_TRANSACTION_PROTECTED" });
    expect((refused as { paths: string[] }).paths).toContain(path);
    await transaction.commit({ paths: [".envrc"] }); // the list replaces the default one
    await (await bwrap.transaction()).discard();
  });

  test("many commands at once are in one", async () => {
    const bwrap = make();
    await Promise.all([1, 2, 3, 4].map((each) => bwrap.exec(`echo ${each} > f${each}`)));
    expect(waiting()).toBe(1);
    expect(await bwrap.exec("cat f?")).toBe("1\n2\n3\n4\n");
    await (await bwrap.transaction()).discard();
  });

  test("is kept by close, taken up by its id, and runs no more of this Bwrap's commands", async () => {
    const bwrap = make();
    await bwrap.exec("echo two > a");
    const transaction = await bwrap.transaction();
    await transaction.close();
    await expect(bwrap.exec("cat a")).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    const runner = new BubblewrapNativeRunner({ shadowDir: project });
    const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(await resumed.files.readText("a")).toBe("two\n");
    await resumed.discard();
  });

  test("is ended with what runs in it", async () => {
    const bwrap = make();
    const running = bwrap.exec("echo up > up; sleep 1000");
    const transaction = await bwrap.transaction();
    while ((await transaction.changes()).length === 0);
    await transaction.discard();
    expect(await running).toMatch(/aborted/);
    expect(waiting()).toBe(0);
  });
});

test.each([
  ["a word", { transaction: "yes" }, /Expected `transaction` to be a boolean or the options/],
  ["null", { transaction: null }, /Expected `transaction`/],
  ["a misspelled option", { transacton: true }, /did you mean `transaction`/],
])("%s is refused", (_, options, message) => {
  expect(() => new Bwrap(project, [], false, options as never)).toThrow(message);
});

test("a wrong option of the transaction is refused with the first command", async () => {
  const bwrap = new Bwrap(project, [], false, { transaction: { dirctory: state } as never });
  await expect(bwrap.exec("true")).rejects.toThrow(/did you mean `directory`/);
});

test("additional folders are refused: commands would change them at once", () => {
  const other = tempDirectory("shared");
  const transaction = { directory: state };
  expect(() => new Bwrap(project, [other], false, { transaction })).toThrow(/`additionalFolders`/);
  expect(() => new Bwrap(project, [project], false, { transaction })).not.toThrow();
  expect(() => new Bwrap(project, [other], false, { transaction: false })).not.toThrow();
});

test("there is none to be had of a Bwrap without the option", async () => {
  await expect(new Bwrap(project).transaction()).rejects.toMatchObject({
    code: "ERR_INVALID_STATE",
  });
});
