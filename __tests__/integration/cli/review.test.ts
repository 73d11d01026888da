/** `native-runner review`: which transaction, until when, and what it says. */

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { ask } from "../review/review-server.js";
import { kCli, whyNoCli } from "../support/built-cli.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { kEdit, Scene } from "./transactions/transaction-workspace.js";

/** Starts it in the workspace, and waits for the address. */
async function serve(scene: Scene, ...words: string[]) {
  const [program = "", ...args] = [...kCli, "review", ...words];
  const child = spawn(program, args, { cwd: scene.workspace, env: scene.environment });
  onTestFinished(() => void child.kill("SIGKILL")); // nothing to do for one that has ended
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    said.out += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    said.err += String(chunk);
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  await eventually("it serves", () => said.out.includes("\n") && said.err.includes("\n"));
  return { child, said, ended, base: new URL(said.out.trim()) };
}

const post = (base: URL, path: string, body: object) =>
  ask(base, `${base.pathname}api/${path}`, { method: "POST", body: JSON.stringify(body) });

describeUnless(whyNoBubblewrap ?? whyNoCli, "native-runner review", () => {
  test("serves the directory's last transaction until it is interrupted; the rest waits", async () => {
    const scene = new Scene();
    scene.run([], "echo older > old.txt");
    scene.run([], kEdit);
    const log = join(scene.state, "audit.log");
    const { child, said, ended, base } = await serve(
      scene,
      ...["--approved-by", "ada", "--audit-log", log],
    );
    expect(said.err).toMatch(
      /^native-runner: reviews transaction [0-9a-f]{12} of .*; \^C ends the page$/m,
    );
    const { changes } = (await ask(base, `${base.pathname}api/changes`)).json<{
      changes: { path: string; version: string; runs: number[] }[];
    }>();
    expect(changes.map(({ path, runs }) => [path, runs])).toEqual([
      ["a.txt", [0]],
      ["b.txt", [0]],
    ]);
    const [{ path, version } = { path: "", version: "" }] = changes;
    const done = await post(base, "commit", { files: [{ path, version }] });
    expect(done.json()).toEqual({ committed: ["a.txt"], left: 1 });
    expect(scene.read("a.txt")).toBe("two\n");
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    expect(said.err).toMatch(/what was not committed waits in transaction [0-9a-f]{12}\n$/);
    expect(scene.cli("audit", "show", log, "--json").stdout).toContain('"approvedBy": "ada"');
    // It can be taken up again, and undone.
    const again = await serve(scene, /[0-9a-f]{12}/.exec(said.err)?.[0] ?? "");
    const facts = await ask(again.base, `${again.base.pathname}api/transaction`);
    expect(facts.json()).toMatchObject({ canUndo: true, isLive: false });
    expect((await post(again.base, "undo", {})).status).toBe(200);
    expect(scene.read("a.txt")).toBe("one\n");
    again.child.kill("SIGTERM");
    expect(await again.ended).toBe(0);
  });

  test("further ids are branches: one is taken, and committed", async () => {
    const scene = new Scene();
    const id = scene.waiting("echo more > more");
    const forked = () => /[0-9a-f]{12}/.exec(scene.cli("tx", "fork", id).stdout)?.[0] ?? "no fork";
    const branches = [forked(), forked()];
    const runner = new BubblewrapNativeRunner({ shadowDir: scene.workspace });
    for (const [at, branch] of branches.entries()) {
      const opened = await runner.resumeTransaction(branch, { directory: scene.directory });
      await opened.files.write("a.txt", `${at}\n`);
    }
    await runner.close();
    const { child, said, ended, base } = await serve(scene, id, ...branches);
    expect(said.err).toContain(`reviews transaction ${id} and 2 branches of `);
    const shown = await ask(base, `${base.pathname}api/changes?branch=${branches[1]}`);
    const { revision } = shown.json<{ revision: number }>();
    expect((await post(base, "take", { branch: branches[1], revision })).status).toBe(200);
    const { changes } = (await ask(base, `${base.pathname}api/changes`)).json<{
      changes: { path: string; version: string }[];
    }>();
    const files = changes.map(({ path, version }) => ({ path, version }));
    expect((await post(base, "commit", { files })).json()).toEqual({
      committed: ["a.txt", "more"],
      left: 0,
    });
    expect(scene.read("a.txt")).toBe("1\n");
    child.kill("SIGINT");
    expect(await ended).toBe(0);

    const twice = scene.cli("review", id, branches[0] ?? "", id);
    expect(twice).toMatchObject({ status: 2 });
    expect(twice.stderr).toContain(`${id} is named twice`);
    const none = scene.cli("review", id, "0123456789ab");
    expect(none).toMatchObject({ status: 120 });
  });

  test("prints the comments at its end, and each as it is written", async () => {
    const scene = new Scene();
    scene.run([], kEdit);
    const { child, said, ended, base } = await serve(scene);
    const comment = { path: "a.txt", side: "after", line: 1, lineText: "two" };
    const reply = await post(base, "comments", { ...comment, text: "why \u001b[31m?\nsay" });
    expect(reply.status).toBe(200);
    await eventually("it is told", () =>
      said.err.includes("native-runner: comment on a.txt:1: why ^[[31m?\n"),
    );
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    expect(said.out).toBe(`${base.href}\n\na.txt:1\n> two\nwhy ^[[31m?\nsay\n`);
  });

  test("ends by itself when the transaction is discarded", async () => {
    const scene = new Scene();
    scene.run([], kEdit);
    const { said, ended, base } = await serve(scene, "--port", "0");
    expect((await post(base, "discard", {})).status).toBe(200);
    expect(await ended).toBe(0);
    expect(said.err).toMatch(/discarded [0-9a-f]{12}\n$/);
    expect(scene.ids()).toEqual([]);
  });

  test("opens the page in a browser, without telling others the address", async () => {
    const scene = new Scene();
    scene.run([], kEdit);
    const bin = join(scene.state, "bin");
    mkdirSync(bin);
    const log = join(scene.state, "opened");
    writeFileSync(
      join(bin, "xdg-open"),
      `#!/bin/sh\necho "$1" > ${log}.tmp; mv ${log}.tmp ${log}\n`,
      {
        mode: 0o755,
      },
    );
    const own = new Proxy(scene, {
      get: (target, name) =>
        name === "environment"
          ? { ...target.environment, PATH: `${bin}:${process.env.PATH}` }
          : Reflect.get(target, name, target),
    });
    const { child, ended, base } = await serve(own, "--open");
    const { existsSync, readFileSync, statSync } = await import("node:fs");
    await eventually("it was opened", () => existsSync(log));
    const address = readFileSync(log, "utf8").trim();
    expect(address).toMatch(/^file:/);
    expect(address).not.toContain(base.pathname);
    const file = new URL(address);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toContain(base.href);
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  test("says what is wrong", () => {
    const scene = new Scene();
    expect(scene.cli("review")).toMatchObject({ status: 120, stdout: "" });
    expect(scene.cli("review").stderr).toMatch(/no transaction of .* waits\nfix: .*tx list/);
    expect(scene.cli("review", "0123")).toMatchObject({ status: 120 });
    expect(scene.cli("review", "nonsense")).toMatchObject({ status: 2 });
    const wrong = scene.cli("review", "--port", "70000");
    expect(wrong).toMatchObject({ status: 2 });
    expect(wrong.stderr).toContain("--port");
    expect(scene.cli("review", "--help").stdout).toContain("The page's address has a token");
  });
});
