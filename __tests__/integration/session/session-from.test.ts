// As root too: a session's commands have another user there.
/** A session that begins with the shell state of another one. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import type { NativeSession } from "../support/package.js";
import { run } from "../support/results.js";
import { describeSessions, shellOf } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

const script = (name: string) =>
  readFileSync(new URL(`shells/${name}.bash`, import.meta.url), "utf8");
const bashOf = (session: NativeSession) => shellOf(session, "bash", "-c");
const kClosed = { code: "ERR_SANDBOX_CLOSED" };

describeSessions("a session from another one", (maker) => {
  test("begins with its directory, variables and functions, and both go on apart", async () => {
    const workspace = tempDirectory();
    await using runner = maker.runner(workspace);
    await using first = await runner.openSession({ shell: true });
    const one = bashOf(first);
    expect(await one(script("define-state"))).toMatchObject({ exitCode: 0, err: "" });
    const expected = await one(script("show-state"));
    expect(expected).toMatchObject({ exitCode: 0, err: "" });
    expect(expected.out).toContain("here doc\n 'and \"there\ninner arg\nshared child\n1");

    await using second = await runner.openSession({ from: first, idleTimeoutMs: 60_000 });
    const other = bashOf(second);
    expect(await other(script("show-state"))).toMatchObject({
      exitCode: 0,
      err: "",
      out: expected.out,
    });
    await other("cd ..; plain=other; text() { echo other; }");
    await one("list=(); nested() { echo one; }");
    expect((await other(`pwd; echo $plain; text; echo \${#list[@]}; nested x`)).out).toBe(
      `${join(maker.inside(workspace), "a dir")}\nother\nother\n4\ninner x`,
    );
    expect((await one(`echo $plain; text doc | head -1; echo \${#list[@]}; nested x`)).out).toBe(
      "two words\nhere doc\n0\none",
    );
    await using third = await runner.openSession({ from: second, shell: true });
    expect((await bashOf(third)("echo $plain; text")).out).toBe("other\nother");
  });

  test("begins with the variables of sh, apart from those of bash", async () => {
    const workspace = tempDirectory();
    await using runner = maker.runner(workspace);
    await using first = await runner.openSession({ shell: true });
    await shellOf(first, "sh", "-c")("mkdir d; cd d; A='of sh'; export B=2");
    await bashOf(first)("A='of bash'");
    await using second = await runner.openSession({ from: first });
    const sh = await shellOf(second, "sh", "-c")('pwd; echo "$A $B"; env | grep -c ^B=');
    expect(sh.out).toBe(`${join(maker.inside(workspace), "d")}\nof sh 2\n1`);
    expect((await bashOf(second)("echo $A")).out).toBe("of bash");
  });

  test("has nothing of options and traps, like the next command of the other one", async () => {
    const workspace = tempDirectory();
    await using runner = maker.runner(workspace);
    await using first = await runner.openSession({ shell: true });
    const set = "set -euf -o pipefail; shopt -s extglob; umask 077; trap : DEBUG ERR; A=1";
    expect((await bashOf(first)(set)).exitCode).toBe(0);
    const show = "echo $A $-; shopt extglob; trap -p DEBUG ERR; umask; false; echo $?";
    const next = await bashOf(first)(show);
    await using second = await runner.openSession({ from: first });
    const begun = await bashOf(second)(show);
    expect(begun).toMatchObject({ out: next.out, err: "" });
    expect(begun.out).toMatch(/^1 [^e]*\n/);
  });

  test("runs nothing of a hostile state but in its own commands", async () => {
    const workspace = tempDirectory();
    await using runner = maker.runner(workspace);
    await using first = await runner.openSession({ shell: true });
    const left = await bashOf(first)(script("hostile-state"));
    expect(left.result.shellState).toEqual({ status: "kept" });
    // What takes the place of what writes the state: it is lost, and that is told.
    const taken = await bashOf(first)("command() { touch command-ran; }; marker=other");
    expect(taken.result.shellState).toMatchObject({ status: "lost" });
    await using second = await runner.openSession({ from: first });
    const seen = await run(second, ["bash", "-c", 'echo "$marker"; ls -A'], { env: { HOME: "/" } });
    expect(seen.out.split("\n")[0]).toBe("$(touch host-ran)`touch host-ran`; touch host-ran");
    for (const name of ["host", "ps4", "prompt"]) {
      expect(existsSync(join(workspace, `${name}-ran`)), name).toBe(false);
    }
    // The control: its functions are there, and run when a command calls them.
    await run(second, ["bash", "-c", "printf x"], { env: { HOME: "/" } });
    expect(existsSync(join(workspace, "printf-ran"))).toBe(true);
  });

  test("does not wait for commands that run there, which it has nothing of", async () => {
    const workspace = tempDirectory();
    await using runner = maker.runner(workspace);
    await using first = await runner.openSession({ shell: true });
    await bashOf(first)("A=before");
    const running = bashOf(first)("A=after; touch begun; until [ -e go ]; do sleep 0.05; done");
    await eventually("it runs", () => existsSync(join(workspace, "begun")));
    await using second = await runner.openSession({ from: first });
    expect((await bashOf(second)("echo $A; touch go")).out).toBe("before");
    expect((await running).exitCode).toBe(0);
    await using third = await runner.openSession({ from: first });
    expect((await bashOf(third)("echo $A")).out).toBe("after");
  });

  test("says so where its directory is not there, and where its state could not be kept", async () => {
    const workspace = tempDirectory();
    await using runner = maker.runner(workspace);
    await using first = await runner.openSession({ shell: true });
    const one = bashOf(first);
    await one("mkdir d; cd d; A=1");
    const lost = await one("A=$(head -c 2000000 /dev/zero | tr '\\0' x)");
    expect(lost.result.shellState).toMatchObject({ status: "lost" });
    await run(first, ["rmdir", "../d"]);
    await using second = await runner.openSession({ from: first });
    const inside = maker.inside(workspace);
    const { out, result } = await bashOf(second)("pwd; echo $A");
    expect(out).toBe(`${inside}\n1`);
    expect(result.shellState).toEqual({ status: "kept", lostDirectory: join(inside, "d") });
  });

  test("is refused from what has no such state, has ended, or is another runner's", async () => {
    const workspace = tempDirectory();
    await using runner = maker.runner(workspace);
    await using first = await runner.openSession({ shell: true });
    const open = (from: unknown, shell?: boolean) =>
      runner.openSession({ from: from as NativeSession, shell });
    for (const wrong of [{}, null, 7, runner]) await expect(open(wrong)).rejects.toThrow("`from`");
    await expect(open(first, false)).rejects.toThrow("shell");
    await using plain = await runner.openSession();
    await expect(open(plain)).rejects.toThrow("`from`");
    await using apart = maker.runner(tempDirectory());
    await using foreign = await apart.openSession({ shell: true });
    await expect(open(foreign)).rejects.toThrow("same runner");
    await (await open(first)).close(); // the control
    await first.close();
    await expect(open(first)).rejects.toMatchObject(kClosed);
  });
});
