// As root too: it mounts overlays without a user namespace, and could write what another user owns.
/** The host's package caches, copy-on-write: nothing that a command writes gets into the host's, or to another sandbox. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { eventually } from "../../support/waits.js";
import { command, kCli } from "../support/built-cli.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { cacheHome, type Options, sh } from "./cache-home.js";
import { snapshot } from "./made-home.js";

const kKinds: [kind: string, options: Options][] = [
  ["cold", { clone: "never", prewarm: 0 }],
  ["prewarmed", { clone: "never", prewarm: 2 }],
  ["with clones", { clone: "auto" }],
  ["Landlock besides", { layers: ["landlock"] }],
  ["compat", { isolation: "compat" }],
  ["a network by domain", { network: { allow: ["a.test"] } }],
];

/** Each tries to change what the host has; what it prints is what it saw of its own change. */
const kAttempts: [name: string, script: string, out: string][] = [
  ["overwrites a file", "echo new > file; cat file", "new"],
  ["appends to it", "echo new >> file; cat file", "of the host\nnew"],
  ["truncates it", ": > file; wc -c < file", "0"],
  ["removes it", "rm file; ls", "link\nout\nsub"],
  ["replaces it", "echo new > made; mv made file; cat file", "new"],
  ["renames it", "mv file other; cat other", "of the host"],
  ["changes its mode", "chmod 777 file; stat -c %a file", "777"],
  ["changes the cache's own mode", "chmod 777 .; stat -c %a .", "777"],
  ["changes its time", "touch -d @1 file; stat -c %Y file", "1"],
  ["writes by another name of it", "ln file second; echo new > second; cat second", "new"],
  ["writes by the host's other name of it", "echo new > link; cat link", "new"],
  ["opens it again by /proc", "exec 3< file; echo new > /proc/self/fd/3; cat file", "new"],
  ["opens the directory by /proc", "exec 3< .; echo new > /proc/self/fd/3/file; cat file", "new"],
  ["removes a directory", "rm -r sub; mkdir sub; ls sub | wc -l", "0"],
  ["changes a file below", "echo new > sub/file; cat sub/file", "new"],
  ["makes files", "touch new sub/new; ls sub", "file\nnew"],
  ["follows a link out of it", "echo new > out; cat out", "new"],
];

describeSandboxed("nothing that a command writes is in the host's cache", () => {
  test.each(kKinds)("%s", async (_, options) => {
    const { home, put, runnerOf } = cacheHome();
    put("outside", "of the host\n");
    const file = put(".npm/_cacache/file", "of the host\n");
    put(".npm/_cacache/sub/file", "of the host\n");
    linkSync(file, join(home, ".npm/_cacache/link"));
    symlinkSync("../../outside", join(home, ".npm/_cacache/out"));
    const before = snapshot(home);
    const runner = runnerOf({ caches: "host", ...options });
    for (const [name, script, out] of kAttempts) {
      const line = `cd ~/.npm/_cacache && { ${script}; }`;
      expect(`${name}: ${await sh(runner, line)}`).toBe(`${name}: ${out}\n`);
      expect(snapshot(home), name).toEqual(before);
    }
    if (options.isolation === "compat") return; // it has no sessions
    const session = await runner.openSession();
    await sh(session, "echo kept > ~/.npm/_cacache/file");
    expect(await sh(session, "cat ~/.npm/_cacache/file")).toBe("kept\n");
    expect(await sh(runner, "cat ~/.npm/_cacache/file")).toBe("of the host\n");
    await session.close();
    expect(snapshot(home)).toEqual(before);
  });

  test("each sandbox has writes of its own, whether it was prewarmed or not; none is cloned", async () => {
    const { put, runnerOf, shadowDir } = cacheHome();
    put(".npm/_cacache/file", "of the host\n");
    const runner = runnerOf({ caches: "host", prewarm: 2 });
    await runner.warm();
    const names = ["one", "two", "three"];
    const runs = names.map((name) => {
      const line = `cd ~/.npm/_cacache; ls; touch ${name} /workspace/${name}; until test -e /workspace/go; do sleep 0.01; done; ls`;
      return runner.exec({ argv: ["sh", "-c", line] });
    });
    const seen = "until test -e one && test -e two && test -e three; do sleep 0.01; done";
    await sh(runner, seen);
    writeFileSync(join(shadowDir, "go"), "");
    const results = await Promise.all(runs);
    expect(results.map(({ stdoutText }) => stdoutText)).toEqual(
      names.map((name) => ["file", ...["file", name].sort(), ""].join("\n")),
    );
    const starts: unknown[] = results.map(({ audits: [audit] }) => audit?.start);
    for (let run = 0; run < 8; run++) {
      const argv = ["sh", "-c", "cd ~/.npm/_cacache; ls; touch x"];
      const { audits, stdoutText } = await runner.exec({ argv });
      expect(stdoutText).toBe("file\n");
      starts.push(audits[0]?.start);
      if (audits[0]?.start === "cold") expect(audits[0].coldReason).toMatch(/caches/);
    }
    expect(starts).toContain("prewarmed");
    expect(starts).not.toContain("cloned");
  });

  describe("a kept home keeps what is written over them", () => {
    const kLine = "cd ~/.npm/_cacache";

    function keptCaches() {
      vi.stubEnv("XDG_STATE_HOME", tempDirectory("state", "/var/tmp"));
      const made = cacheHome();
      made.put(".npm/_cacache/file", "of the host\n");
      made.put(".cache/ccache/ccache.conf", "remote_storage = http://user:password@a.test\n");
      const before = snapshot(made.home);
      const expectUnchanged = () => expect(snapshot(made.home)).toEqual(before);
      const kept = (options: Options = {}) =>
        made.runnerOf({ home: "kept", caches: "host", ...options });
      return { ...made, kept, expectUnchanged };
    }

    test.each(kKinds)("from one command to the next, %s", async (_, options) => {
      const { kept, expectUnchanged } = keptCaches();
      const runner = kept(options);
      const wrote = `${kLine}; cat file; echo new > file; mkdir made; ls ~/.cache/ccache`;
      expect(await sh(runner, wrote)).toBe("of the host\n");
      expect(await sh(runner, `${kLine}; cat file; ls; rm -r made file`)).toBe("new\nfile\nmade\n");
      await runner.close();
      expect(await sh(kept(options), `${kLine}; ls`)).toBe("");
      expectUnchanged();
    });

    test("for its workspace alone, and until it is cleared", async () => {
      const { kept, shadowDir, expectUnchanged } = keptCaches();
      const runner = kept({ prewarm: 0 });
      await sh(runner, `${kLine}; echo new > file`);
      const other = kept({ shadowDir: tempDirectory("caches") });
      expect(await sh(other, `cat ~/.npm/_cacache/file`)).toBe("of the host\n");
      expect(command([...kCli, "home", "clear", shadowDir])).toMatchObject({
        stderr: "",
        status: 0,
      });
      expect(await sh(runner, `${kLine}; cat file`)).toBe("of the host\n");
      expect(readdirSync(join(process.env.XDG_STATE_HOME ?? "", "openagentic/homes"))).toHaveLength(
        2,
      );
      expectUnchanged();
    });

    test("shared by all that run at the same time, with what the host installs meanwhile", async () => {
      const { home, put, kept } = keptCaches();
      const session = await kept().openSession();
      await sh(session, `${kLine}; echo 1 > one`);
      const several = ["a", "b", "c"].map((name) =>
        sh(kept({ prewarm: 0 }), `${kLine}; cat one; echo ${name} > ${name}`),
      );
      expect(await Promise.all(several)).toEqual(["1\n", "1\n", "1\n"]);
      expect(await sh(session, `${kLine}; ls`)).toBe("a\nb\nc\nfile\none\n");
      const later = put(".npm/_cacache/later", "installed since\n");
      expect(await sh(kept({ prewarm: 0 }), `${kLine}; cat later`)).toBe("installed since\n");
      await session.close();
      rmSync(later);
      expect(existsSync(join(home, ".npm/_cacache/one"))).toBe(false);
    });

    test("not while another process has them, which is no reason to fail", async () => {
      const { kept, shadowDir } = keptCaches();
      const waits = `${kLine}; echo theirs > theirs; touch /workspace/up; until test -e /workspace/go; do sleep 0.01; done`;
      const options = ["--home", "kept", "--caches", "host"];
      const [program = "", ...args] = [...kCli, "run", ...options, "--", "sh", "-c", waits];
      const other = promisify(execFile)(program, args, { cwd: shadowDir });
      await eventually("it runs", () => existsSync(join(shadowDir, "up")));
      const runner = kept({ prewarm: 2 });
      expect(await sh(runner, `${kLine}; echo lost > lost; ls`)).toBe("file\nlost\n");
      writeFileSync(join(shadowDir, "go"), "");
      await other;
      expect(await sh(runner, `${kLine}; ls`)).toBe("file\ntheirs\n");
    });

    test("also what a command wrote whose host is killed, any number of times", async () => {
      const { kept, shadowDir, expectUnchanged } = keptCaches();
      const options = ["--home", "kept", "--caches", "host"];
      for (let time = 1; time <= 4; time += 1) {
        const waits = `${kLine}; echo ${time} >> killed; touch /workspace/up-${time}; sleep 100`;
        const [program = "", ...args] = [...kCli, "run", ...options, "--", "sh", "-c", waits];
        const host = spawn(program, args, { cwd: shadowDir, stdio: "ignore" });
        await eventually("it runs", () => existsSync(join(shadowDir, `up-${time}`)));
        host.kill("SIGKILL");
        await once(host, "exit");
        const line = `${kLine}; echo after >> file; cat file killed`;
        const seen = await sh(kept({ prewarm: 0 }), line);
        const killed = Array.from({ length: time }, (_, at) => `${at + 1}\n`).join("");
        expect(seen).toBe(`of the host\n${"after\n".repeat(time)}${killed}`);
      }
      expectUnchanged();
    });

    test("not while sandboxes of another kind have them, which is no reason to fail", async () => {
      const { kept } = keptCaches();
      const session = await kept().openSession();
      const other = kept({ caches: ["npm"] });
      expect(await sh(other, `${kLine}; echo lost > lost; ls`)).toBe("file\nlost\n");
      expect(await sh(other, `${kLine}; ls`)).toBe("file\n");
      await session.close();
    });
  });

  test.each(["overlay", "copy"] as const)(
    "a transaction's commands share them, by %s",
    async (backend) => {
      const { home, put, runnerOf } = cacheHome();
      put(".npm/_cacache/file", "of the host\n");
      put(".cache/ccache/ccache.conf", "remote_storage = http://user:password@a.test\n");
      const before = snapshot(home);
      const runner = runnerOf({ caches: "host" });
      const directory = tempDirectory("state");
      let transaction = await runner.openTransaction({ directory, backend });
      expect(transaction.backend).toBe(backend);
      const other = await runner.openTransaction({ directory, backend });
      onTestFinished(() => other.discard());
      const go = (line: string) => sh(transaction, `cd ~/.npm/_cacache; ${line}`);
      expect(await go("cat file; echo new > file; touch made ~/beside; ls ~/.cache/ccache")).toBe(
        "of the host\n",
      );
      expect(await go("cat file; ls")).toBe("new\nfile\nmade\n");
      expect(await sh(other, "cat ~/.npm/_cacache/*")).toBe("of the host\n");
      expect(await sh(runner, "cat ~/.npm/_cacache/*")).toBe("of the host\n");
      const several = ["a", "b", "c"].map((name) => go(`echo ${name} > ${name}; cat ${name} file`));
      expect(await Promise.all(several)).toEqual(["a\nnew\n", "b\nnew\n", "c\nnew\n"]);
      const session = await transaction.openSession();
      expect(await sh(session, "cd ~/.npm/_cacache; ls; rm a b c")).toBe("a\nb\nc\nfile\nmade\n");
      await session.close();
      expect(snapshot(home)).toEqual(before);
      // What the host installs meanwhile is there for the next command.
      expect(await go("cat later")).toContain("No such file");
      put(".npm/_cacache/later", "installed since\n");
      expect(await go("cat later; ls")).toBe("installed since\nfile\nlater\nmade\n");
      expect(await transaction.changes()).toEqual([]);
      await transaction.exec({ argv: ["touch", "changed"] });
      await transaction.commit();
      expect(await go("cat file; ls")).toBe("new\nfile\nlater\nmade\n");
      await transaction.close();
      transaction = await runner.resumeTransaction(transaction.id, { directory });
      expect(await go("cat file; ls")).toBe("new\nfile\nlater\nmade\n");
      const member = runnerOf({ caches: ["npm"], transaction });
      expect(await sh(member, "cat ~/.npm/_cacache/file; ls -A ~/.cache/ccache")).toBe("new\n");
      await transaction.discard();
      expect(readdirSync(directory).filter((name) => name === transaction.id)).toEqual([]);
      rmSync(join(home, ".npm/_cacache/later"));
      expect(readFileSync(join(home, ".npm/_cacache/file"), "utf8")).toBe("of the host\n");
    },
  );

  test("a runner can't show caches in a transaction that has none", async () => {
    const { put, runnerOf } = cacheHome();
    put(".npm/_cacache/file", "of the host\n");
    const transaction = await runnerOf().openTransaction({ directory: tempDirectory("state") });
    onTestFinished(() => transaction.discard());
    const { audits } = await runnerOf({ caches: "host", transaction }).exec({ argv: ["true"] });
    expect(audits[0]).toMatchObject({ outcome: "setup-failed" });
    const { exitCode } = await runnerOf({ transaction }).exec({ argv: ["true"] });
    expect(exitCode).toBe(0);
  });

  test("a file that is not shown can't be brought back", async () => {
    const { put, runnerOf } = cacheHome();
    put(".cache/ccache/ccache.conf", "remote_storage = http://user:password@a.test\n");
    put(".cache/ccache/0/object", "compiled\n");
    const runner = runnerOf({ caches: ["ccache"] });
    const line =
      "cd ~/.cache/ccache; ls; rm -f ccache.conf; touch ccache.conf; cat ccache.conf; rm ccache.conf; cat ccache.conf 2>/dev/null; mv 0 1 2>/dev/null; cp -r . /tmp/copy; grep -r password ~ /tmp";
    expect(await sh(runner, line)).toBe("0\n");
  });

  test("a socket of the host's in a cache leads to nobody", async () => {
    const { home, put, runnerOf } = cacheHome();
    put(".npm/_cacache/file", "of the host\n");
    const path = join(home, ".npm/_cacache/socket");
    const server = createServer((peer) => peer.end("hello")).listen(path);
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const script = `require("node:net").connect(${JSON.stringify(path)}).on("error", (error) => console.log(error.code)).on("data", (bytes) => console.log(String(bytes)))`;
    const host = await promisify(execFile)(process.execPath, ["-e", script]);
    expect(host.stdout).toBe("hello\n");
    const { stdoutText } = await runnerOf({ caches: "host" }).exec({
      argv: ["node", "-e", script],
    });
    expect(stdoutText).toBe("ECONNREFUSED\n");
  });

  test("what is written counts", async () => {
    const { put, runnerOf } = cacheHome();
    put(".npm/_cacache/file", "of the host\n");
    const runner = runnerOf({ caches: "host" });
    const line = "head -c 64M /dev/zero > ~/.npm/_cacache/big 2>/dev/null && echo written";
    const memoryBytes = 1024 ** 3;
    expect(await sh(runner, line, { limits: { memoryBytes } })).toBe("written\n");
    const less = { memoryBytes: memoryBytes / 32 };
    expect(await sh(runner, line, { limits: less })).not.toContain("written");
  });
});
