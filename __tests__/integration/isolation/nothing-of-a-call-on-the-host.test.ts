// As root too: root has more to keep from a command.
/** Promise 7: what a call brings neither shows on the host nor steers what runs there. */

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kEngine } from "../other-hosts/this-engine.js";
import { bindsWith } from "../promises/probed-host.js";
import { runHost } from "../support/host-program.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { buildProbe, buildSpy } from "../support/probe.js";
import { allPids, kMarker, marked, newMark, readProc } from "../support/processes.js";
import { describeSandboxed, plainEnvironment } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

/** Command line and environment of every process but this one, and but those of the command itself. */
function hostsProcessList(isCommand: (pid: number) => boolean): string {
  return allPids()
    .filter((pid) => pid !== process.pid && !isCommand(pid))
    .map((pid) => `${readProc(pid, "cmdline")}\n${readProc(pid, "environ")}`)
    .join("\n");
}

const isMarked = (mark: string) => (pid: number) =>
  readProc(pid, "environ").includes(`${kMarker}=${mark}`) &&
  readProc(pid, "cmdline").startsWith("sleep");

describeSandboxed("7: the host's process list", () => {
  test("shows neither the policy nor the environment", async () => {
    const mark = newMark();
    const workspace = join(tempDirectory(), `workspace-${mark}`);
    const shared = join(tempDirectory(), `shared-${mark}`);
    for (const directory of [workspace, shared]) mkdirSync(directory);
    const controller = new AbortController();
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, roBinds: bindsWith(shared) });
    const running = run(runner, ["sleep", "1000"], {
      env: { [kMarker]: mark },
      signal: controller.signal,
    });
    await eventually("the command runs", () =>
      marked(mark).some((line) => line.includes("sleep 1000")),
    );
    const list = hostsProcessList(isMarked(mark));
    controller.abort();
    expect((await running).kind).toBe("aborted");
    expect(list).toContain("bwrap\0--args\0");
    expect(list).not.toContain(mark);
  });

  test("would show them with a plain bwrap", async () => {
    const mark = newMark();
    const argv = ["--ro-bind", "/", "/", "--setenv", kMarker, mark, "sleep", "1000"];
    const child = spawn("bwrap", argv, { env: plainEnvironment(), stdio: "ignore" });
    await eventually("the command runs", () =>
      marked(mark).some((line) => line.includes("sleep 1000")),
    );
    const list = hostsProcessList(isMarked(mark));
    child.kill("SIGKILL");
    await eventually("it is gone", () => child.signalCode !== null);
    for (const line of marked(mark)) process.kill(Number.parseInt(line, 10), "SIGKILL");
    expect(list).toContain(mark);
  });
});

describeSandboxed("7: what a call brings", () => {
  let tools = "";
  let probe = "";
  beforeAll(() => {
    tools = tempDirectory("tools");
    probe = buildProbe(tools);
    buildSpy(tools);
    const fake = join(tools, "bwrap");
    writeFileSync(fake, `#!/bin/sh\necho used >> ${tools}/witness\nexit 1\n`);
    chmodSync(fake, 0o755);
    writeFileSync(join(tools, "witness"), "");
  });
  const witness = () => readFileSync(join(tools, "witness"), "utf8");

  test("PATH does not choose the bwrap", async () => {
    const runner = new BubblewrapNativeRunner({
      shadowDir: tempDirectory(),
      roBinds: bindsWith(tools),
    });
    const env = { PATH: `${tools}:/usr/bin:/bin` };
    const seen = await run(runner, 'echo "$PATH"', { env });
    expect(seen).toMatchObject({ kind: "exited", out: env.PATH });
    expect(witness()).toBe("");
  });

  test("while the host's own PATH does", async () => {
    const args = [tempDirectory()];
    const env = { PATH: `${tools}:${process.env.PATH}` };
    const ended = await runHost(probe, "one-run.mjs", { args, env });
    expect(ended).toMatchObject({ code: 0, left: [] });
    expect(ended.out).toContain("ERR_SANDBOX_UNAVAILABLE");
    expect(witness()).toBe("used\n");
  });

  test("LD_PRELOAD reaches the command only", async () => {
    const runner = new BubblewrapNativeRunner({
      shadowDir: tempDirectory(),
      roBinds: bindsWith(tools),
    });
    const seen = await run(runner, ["true"], { env: { LD_PRELOAD: join(tools, "spy.so") } });
    expect(seen).toMatchObject({ kind: "exited", err: "spy: true" });
  });

  test("while the environment of a plain bwrap reaches bwrap", async () => {
    const child = spawn("bwrap", ["--ro-bind", "/", "/", "true"], {
      env: { PATH: process.env.PATH, LD_PRELOAD: join(tools, "spy.so") },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += String(chunk);
    });
    await new Promise((resolve) => child.on("close", resolve));
    expect(err).toContain("spy: bwrap");
  });

  test("BASH_ENV and ENV reach the command only", async () => {
    const workspace = tempDirectory();
    writeFileSync(join(workspace, "rc"), "echo read by $0\n");
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace });
    const seen = await run(runner, ["bash", "-c", "echo ran", "it"], {
      env: { BASH_ENV: "/workspace/rc", ENV: "/workspace/rc" },
    });
    expect(seen.out).toBe("read by it\nran");
  });

  test("no descriptor of the host's comes along", async () => {
    const secret = join(tools, "secret");
    writeFileSync(secret, "secret");
    const before = [probe, "with-fd", "200", secret];
    const ended = await runHost(probe, "descriptors.mjs", {
      args: [tempDirectory(), secret],
      before,
    });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    const { control, strict, compat, local } = JSON.parse(ended.out);
    if (kEngine !== "Bun") expect(control).toContain("200"); // which passes none on by itself
    // 3 is what `ls` reads the directory with.
    expect({ strict, compat, local }).toEqual({
      strict: ["0", "1", "2", "3"],
      compat: ["0", "1", "2", "3"],
      local: ["0", "1", "2", "3"],
    });
  });
});
