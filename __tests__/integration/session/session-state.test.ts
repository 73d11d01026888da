/** What is told of a shell session's state: whether it was kept, and what of it could not be used. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kBegunMs } from "../../support/waits.js";

import type { NativeExecInput } from "../support/package.js";
import { bytes, run } from "../support/results.js";
import { describeSessions, shellOf } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

describeSessions("the state of a shell session", (maker) => {
  test("goes back to the workspace when its directory is gone", async () => {
    const workspace = tempDirectory();
    await using session = await maker.open({ shell: true }, workspace);
    const sh = shellOf(session, "sh", "-c");
    const inside = maker.inside(workspace);
    await sh("mkdir -p a/b; cd a/b");
    expect((await sh("rm -rf ../../a")).exitCode).toBe(0);
    expect((await sh("pwd")).out).toBe(inside);
    await sh("mkdir a; cd a");
    expect((await sh("pwd", { cwd: "missing" })).kind).toBe("setup-failed");
    expect((await sh("pwd")).out).toBe(join(inside, "a"));
  });

  test.each([
    ["is gone", "mkdir d; cd d", "rmdir d"],
    ["is none any more", "mkdir d; cd d", "rmdir d; echo x > d"],
    ["may not be entered any more", "mkdir d; cd d", "chmod 0 d"],
    ["leads in a circle", "mkdir d; cd d", "rmdir d; ln -s d d"],
    [
      "has too long a name",
      'n=$(head -c 200 /dev/zero | tr "\\0" x); for i in $(seq 25); do mkdir $n; cd $n; done 2> /dev/null',
      "true",
    ],
  ])(
    "starts in the workspace, and says so, where the directory %s",
    async (_name, enter, spoil) => {
      const workspace = tempDirectory();
      await using session = await maker.open({ shell: true, maxCommands: 9 }, workspace);
      const sh = shellOf(session, "sh", "-c");
      const inside = maker.inside(workspace);
      await sh("A=1");
      const entered = await run(session, ["bash", "-c", `${enter}; pwd`]); // sh can't go so deep
      expect(entered).toMatchObject({
        exitCode: 0,
        err: "",
        result: { shellState: { status: "kept" } },
      });
      await sh(spoil, { cwd: "." });
      const input = { stdin: bytes("input"), env: { HOME: "/" } };
      const lost = await run(session, ["sh", "-c", 'pwd; echo "$PWD $A"; cat'], input);
      expect(lost).toMatchObject({ kind: "exited", out: `${inside}\n${inside} 1\ninput`, err: "" });
      const { shellState, audits } = lost.result;
      expect(shellState).toEqual({ status: "kept", lostDirectory: entered.out });
      expect(audits?.[0]?.cwd).toBe(inside);
      const next = await sh("pwd");
      expect(next).toMatchObject({ out: inside, result: { shellState: { status: "kept" } } });
      expect(next.result.shellState).not.toHaveProperty("lostDirectory");
      await sh("mkdir -p e; cd e");
      await sh("rmdir ../e");
      const other = await run(session, ["pwd"]); // no shell, and it counts once for maxCommands
      expect(other).toMatchObject({ kind: "exited", out: inside });
      expect(other.result.shellState).toEqual({
        status: "unchanged",
        lostDirectory: join(inside, "e"),
      });
      expect((await sh("pwd")).out).toBe(inside);
      expect((await session.ended).includes("maxCommands")).toBe(true);
      spawnSync("sh", ["-c", 'chmod -R 700 "$0"; rm -rf "$0"/*', workspace]); // whatever is left
    },
  );

  test("says of each command whether what it left is kept", async () => {
    await using session = await maker.open({ shell: true });
    const bash = shellOf(session, "bash", "-c");
    const after = async (script: string, input?: Partial<NativeExecInput>) =>
      (await bash(script, input)).result.shellState;
    expect(await after("A=1")).toEqual({ status: "kept" });
    expect(await after("exit 3")).toEqual({ status: "kept" });
    expect((await run(session, ["true"])).result.shellState).toEqual({ status: "unchanged" });
    expect((await run(session, ["no-such"])).result.shellState).toEqual({ status: "unchanged" });
    for (const script of ["exec true", "kill -9 $$", "trap true EXIT"]) {
      expect(await after(script), script).toEqual({
        status: "lost",
        reason: expect.stringMatching(/own end, or an EXIT trap/),
      });
    }
    expect(await after("sleep 1000", { limits: { timeoutMs: kBegunMs } })).toEqual({
      status: "lost",
      reason: "the command was ended before it came to its own end",
    });
    expect(await after("A=$(head -c 2000000 /dev/zero | tr '\\0' x)")).toEqual({
      status: "lost",
      reason: "it is larger than 1048576 bytes",
    });
    expect(await after("compgen() { kill -9 $BASHPID; }")).toEqual({
      status: "lost",
      reason: "the shell could not write it to its end",
    });
    expect((await bash("echo $A")).out).toBe("1");
    await using plain = await maker.open();
    expect((await run(plain, "true")).result).not.toHaveProperty("shellState");
  });

  test("keeps nothing of a command that was ended, though its shell has written it", async () => {
    await using session = await maker.open({ shell: true });
    const sh = shellOf(session, "sh", "-c");
    await sh("cd /etc; A=before");
    const writes = "printf '/usr\\n\\000A=written\\n\\n#end\\n' >> /proc/self/fd/83; trap '' EXIT";
    const late = await sh(`${writes}; sleep 1000`, { limits: { timeoutMs: kBegunMs } });
    expect(late).toMatchObject({ kind: "timed-out", result: { shellState: { status: "lost" } } });
    expect((await run(session, ["pwd"])).out).toBe("/etc");
    expect((await sh("echo $A")).out).toBe("before");
    // The control: the same, from a shell that comes to its own end.
    expect(await sh(writes)).toMatchObject({ result: { shellState: { status: "kept" } } });
    expect(await sh("pwd; echo $A")).toMatchObject({ out: "/usr\nwritten" });
  });
});
