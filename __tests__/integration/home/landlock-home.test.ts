/** Under Landlock commands have a home of their own and find the host's tools, while no secret of the home can be read. */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/waits.js";
import { killHost, startHost } from "../support/host-program.js";
import { LandlockNativeRunner, type LandlockNativeRunnerOptions } from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { run } from "../support/results.js";
import { describeRuntime } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { kJobs, kMark, live, type MadeHome, madeHome, snapshot } from "./made-home.js";

let made: ReturnType<typeof madeHome>;
const homes = () => join(made.state, "openagentic/run-homes");

function runnerOf(options: Partial<LandlockNativeRunnerOptions> = {}): LandlockNativeRunner {
  const runner = new LandlockNativeRunner({ shadowDir: made.workspace, ...options });
  onTestFinished(() => runner.close());
  return runner;
}

/** Runs a script on the host, as the developer does. */
function outside({ env, workspace }: MadeHome, script: string): string {
  const { stdout } = spawnSync("sh", ["-c", script], { env, cwd: workspace, encoding: "utf8" });
  return stdout.trim();
}

const layersOf = (seen: Awaited<ReturnType<typeof run>>) =>
  (seen.result as { audits?: { layers: string[] }[] }).audits?.[0]?.layers ?? [];

describeRuntime("landlock", () => {
  beforeAll(() => {
    made = madeHome();
    mkdirSync(made.state);
  });
  afterAll(() => made.remove());
  beforeEach(() => {
    live(made);
    const { XDG_STATE_HOME } = process.env;
    process.env.XDG_STATE_HOME = made.state;
    onTestFinished(() => {
      delete process.env.XDG_STATE_HOME;
      Object.assign(process.env, XDG_STATE_HOME && { XDG_STATE_HOME });
    });
  });

  test("every tool works as on the host, and nothing of the host's home is changed", async () => {
    const before = snapshot(made.home);
    const runner = runnerOf();
    const wrong: string[] = [];
    for (const [name, script, out] of kJobs) {
      if (name === "HOME" || name === "the tilde") continue; // it is another directory
      const seen = await run(runner, script);
      const wanted = out.replaceAll("HOME", made.home);
      if (seen.out !== wanted) wrong.push(`${name}: ${seen.out} ${seen.err}`);
    }
    expect(wrong).toEqual([]);
    expect(snapshot(made.home)).toEqual(before);
  });

  test("no secret of the host's home can be read, not even beside a tool", async () => {
    const look = `grep -rl ${kMark} ${made.home} 2>/dev/null | wc -l`;
    expect(Number(outside(made, look))).toBeGreaterThan(30);
    const script = `${look}; cat ${made.home}/.pyenv/.env; cat ${made.home}/.pyenv/version; env | grep ${kMark}`;
    const seen = await run(runnerOf(), script);
    expect(seen.out).toBe("0\n3.99.0");
    expect(seen.err).toContain("Permission denied");
  });

  test('tools: "none" shows none of them', async () => {
    const seen = await run(runnerOf({ tools: "none" }), `cat ${made.home}/.pyenv/version`);
    expect(seen.err).toContain("Permission denied");
  });

  test("git commits with the host's identity, in a home that is gone afterwards", async () => {
    const script = `git init -q && git commit -q --allow-empty -m first && git log --format='%an %ae'
      echo x > ~/file && cat ~/file && stat -c %a ~ && echo "$HOME"`;
    const seen = await run(runnerOf(), script);
    const [who, file, mode, home = ""] = seen.out.split("\n");
    expect([who, file, mode]).toEqual(['Ada "L" Lovelace ada@example.test', "x", "700"]);
    expect(home.startsWith(`${homes()}/`)).toBe(true);
    expect(layersOf(seen)).toContain("private-home");
    await eventually("the home is gone", () => !existsSync(home));
  });

  test("runs at the same time have two homes, and can't reach each other's", async () => {
    const runner = runnerOf();
    const controller = new AbortController();
    let said = (_home: string) => {};
    const first = new Promise<string>((resolve) => {
      said = resolve;
    });
    const waiting = runner.exec({
      argv: ["sh", "-c", 'echo mine > ~/file; echo "$HOME"; exec sleep 1000'],
      signal: controller.signal,
      onStdout: (chunk) => said(Buffer.from(chunk).toString().trim()),
    });
    const other = await first;
    const script = `echo own > ~/file; cat ~/file; cat ${other}/file; ls ${homes()}; [ "$HOME" != ${other} ] && echo another`;
    const seen = await run(runner, script);
    expect(seen.out).toBe("own\nanother");
    expect(seen.err.match(/Permission denied/g)).toHaveLength(2);
    expect(statSync(join(other, "file")).size).toBe(5);
    controller.abort();
    await waiting;
    await eventually("both homes are gone", () => readdirSync(homes()).length === 0);
  });

  test("a session's home lives as long as the session", async () => {
    const session = await runnerOf().openSession();
    const { out: home } = await run(session, 'echo kept > ~/left; echo "$HOME"');
    expect((await run(session, 'cat "$HOME/left"; echo "$HOME"')).out).toBe(`kept\n${home}`);
    expect(existsSync(home)).toBe(true);
    await session.close();
    await eventually("the session's home is gone", () => !existsSync(home));
  });

  test("what commands close or nest is removed too", async () => {
    const script = `mkdir -p ~/$(printf 'd/%.0s' $(seq 600)) && touch ~/$(printf 'd/%.0s' $(seq 600))/f
      mkdir ~/closed ~/closed/in && touch ~/closed/in/f && chmod 0 ~/closed/in ~/closed && ln -s ${made.workspace} ~/link; echo "$HOME"`;
    const { out: home } = await run(runnerOf(), script);
    await eventually("it is gone", () => !existsSync(home));
    expect(existsSync(join(made.workspace, "node_modules/.bin/linter"))).toBe(true);
  });

  test("the home of a host that was killed is removed by the next one", async () => {
    const env = { ...made.env, XDG_STATE_HOME: made.state, PATH: process.env.PATH };
    const host = startHost(buildProbe(tempDirectory()), "landlock-home.mjs", {
      args: [made.workspace],
      env,
    });
    const home = await eventually("the command runs", () => host.said().trim());
    killHost(host);
    expect((await host.ended).left).toEqual([]);
    expect(existsSync(join(home, "a/b/c"))).toBe(true);
    await run(runnerOf(), "true");
    await eventually("the home is gone", () => !existsSync(home));
  });

  test("a chosen home and a kept one stay", async () => {
    const directory = join(made.state, "chosen");
    mkdirSync(directory);
    const chosen = await run(runnerOf({ home: { directory } }), 'echo x > ~/file; echo "$HOME"');
    expect(chosen.out).toBe(directory);
    expect(existsSync(join(directory, "file"))).toBe(true);
    expect(layersOf(chosen)).not.toContain("private-home");
    const kept = runnerOf({ home: "kept" });
    await run(kept, "echo kept > ~/file");
    expect((await run(kept, "cat ~/file; git config user.email")).out).toBe(
      "kept\nada@example.test",
    );
    const none = await run(runnerOf({ home: "none" }), 'echo "$HOME"; ls ~');
    expect(none.out).toBe(made.home);
    expect(none.err).toContain("Permission denied");
  });

  test("a home that the call names is the call's", async () => {
    const env = { HOME: made.workspace };
    expect((await run(runnerOf(), 'echo "$HOME"', { env })).out).toBe(made.workspace);
  });

  test("without a place for homes nothing is run", async () => {
    const file = join(made.state, "file");
    writeFileSync(file, "");
    process.env.XDG_STATE_HOME = join(file, "below");
    process.env.TMPDIR = join(file, "below");
    const { outcome } = await runnerOf().exec({ argv: ["true"] });
    expect(outcome).toMatchObject({
      kind: "setup-failed",
      reason: expect.stringMatching(/no home can be made: .*ENOTDIR/),
    });
    const { outcome: without } = await runnerOf({ home: "none" }).exec({ argv: ["true"] });
    expect(without.kind).toBe("exited");
  });

  test("a home where all commands may write is no layer, and is avoided", async () => {
    const temporary = made.env.TMPDIR as string;
    const script = 'echo x > ~/file; echo "$HOME"';
    const avoided = await run(runnerOf({ fsWriteDirs: ["/tmp", made.state] }), script);
    expect(avoided.out.startsWith(`${temporary}/`)).toBe(true);
    expect(layersOf(avoided)).toContain("private-home");
    const all = runnerOf({ fsWriteDirs: ["/tmp", made.state, temporary] });
    const shared = await run(all, script);
    expect(shared.out.startsWith(`${homes()}/`)).toBe(true);
    expect(layersOf(shared)).toContain("landlock-fs");
    expect(layersOf(shared)).not.toContain("private-home");
  });
});

const kRss = `process.stdout.write(String(require("fs").readFileSync("/proc/self/stat").length > 0))`;

describeRuntime("landlock", () => {
  const runner = () => {
    const made = new LandlockNativeRunner({ shadowDir: process.cwd() });
    onTestFinished(() => made.close());
    return made;
  };

  test("the command reads its own /proc/self, and nobody else's", async () => {
    const own = await run(runner(), [
      process.execPath,
      "-p",
      "process.memoryUsage().rss > 0 && process.memoryUsage.rss() > 0",
    ]);
    expect(own).toMatchObject({ out: "true", err: "" });
    const others = await run(runner(), [
      process.execPath,
      "-p",
      `["/proc/${process.pid}/environ", "/proc/self/net/tcp", "/proc/self/task", "/proc/meminfo"].map((path) => {
        try { require("fs").readdirSync(path); return path; } catch {}
        try { require("fs").readFileSync(path); return path; } catch (error) { return error.code; }
      }).join()`,
    ]);
    expect(others.out).toBe("EACCES,EACCES,EACCES,EACCES");
  });

  test("no command of a session does: the rules would be those of all its commands", async () => {
    await using session = await runner().openSession();
    const waits = await session.start({ argv: ["sh", "-c", "echo here; exec sleep 1000"] });
    await once(waits.stdout, "data");
    const read = 'cat /proc/self/cmdline; for each in /proc/[0-9]*/cmdline; do cat "$each"; done';
    const seen = await session.exec({ argv: ["sh", "-c", `${read} 2>&1 | grep -a sleep; true`] });
    expect(seen.stdoutText).toBe("");
    const own = await session.exec({ argv: ["cat", "/proc/self/cmdline"] });
    expect(own).toMatchObject({ exitCode: 1, stdoutText: "" });
    expect(own.stderrText).toContain("Permission denied");
    await waits.stop();
  });

  test("a process that the command starts can't, which is a denial", async () => {
    const seen = await run(runner(), ["sh", "-c", `"${process.execPath}" -e '${kRss}'; true`], {
      explain: true,
    });
    expect(seen.err).toContain("EACCES");
    expect(seen.result.denials).toContainEqual(
      expect.objectContaining({
        path: "/proc/self/stat",
        by: "landlock",
        notAdvised: expect.stringContaining("only the process that the run starts"),
      }),
    );
  });

  test("shared memory is a denial that says why", async () => {
    const argv = ["/usr/bin/python3", "-c", "import multiprocessing; multiprocessing.Lock()"];
    const seen = await run(runner(), argv, { explain: true });
    expect(seen.err).toContain("PermissionError");
    expect(seen.result.denials).toContainEqual(
      expect.objectContaining({
        path: expect.stringMatching(/^\/dev\/shm\//),
        kind: "write",
        by: "landlock",
        notAdvised: expect.stringContaining("shared memory of all of the user's programs"),
      }),
    );
  });
});
