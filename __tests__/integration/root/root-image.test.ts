/** The option `root: { image }`: an image is unpacked once, and commands have it as root file system. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { ImageStore } from "../../../lib/image/image-store.js";
import { type MadeEntry, madeTar, writeLayout } from "../image/made-images.js";
import { startNatsServer, whyNoNatsServer } from "../remote/support/nats-server.js";
import { startWorker } from "../remote/support/worker.js";
import { command, kCli, whyNoCli } from "../support/built-cli.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  createRuntime,
} from "../support/package.js";
import { describeUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kRelease, madeRoot, whyNoRoot } from "./made-root.js";

const sh = (script: string) => ({ argv: ["sh", "-c", script] });

/** The entries of a layer with all of a made root. */
function layerOfRoot(more: readonly MadeEntry[] = []): Buffer {
  const root = madeRoot();
  const busybox = readFileSync(join(root, "bin/busybox"));
  const commands = readdirSync(join(root, "bin")).filter((name) => name !== "busybox");
  const text = (name: string) => ({ name, data: readFileSync(join(root, name)) });
  return madeTar([
    { name: "bin/", flag: "5", mode: 0o755 },
    { name: "bin/busybox", data: busybox, mode: 0o755 },
    ...commands.map((name) => ({ name: `bin/${name}`, flag: "2", target: "busybox" })),
    { name: "etc/", flag: "5", mode: 0o755 },
    ...["etc/os-release", "etc/passwd", "etc/group"].map(text),
    { name: "usr/lib/", flag: "5", mode: 0o755 },
    ...more,
  ]);
}

type Image = { image: string; tag?: string; env?: boolean };
const runnerOf = (root: Image, more: Partial<BubblewrapNativeRunnerOptions> = {}) =>
  new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0, root, ...more });

const outOf = async (runner: BubblewrapNativeRunner, script: string) => {
  const { stdoutText, outcome } = await runner.exec(sh(script));
  return outcome.kind === "setup-failed" ? outcome : stdoutText;
};

describeUnless(whyNoRoot, "root: { image }", () => {
  const layout = tempDirectory("layout");

  beforeAll(() => {
    process.env.XDG_STATE_HOME = tempDirectory("state");
    const config = {
      Env: ["PATH=/tools:/bin", "LANG=xx", "JAVA_HOME=/opt/java", "HOME=/nowhere", "OWN=1"],
      User: "4242:4242",
      WorkingDir: "/srv",
      Entrypoint: ["/bin/false"],
    };
    const lower = layerOfRoot([
      { name: "usr/lib/gone", data: "gone" },
      { name: "dev/zero", flag: "3" },
      { name: "etc/out", flag: "2", target: "/etc/hostname" },
    ]);
    const upper = madeTar([
      { name: "usr/lib/.wh.gone" },
      { name: "usr/lib/added", data: "added\n" },
    ]);
    writeLayout(layout, [
      { tags: ["one"], layers: [lower, upper], config },
      { tags: ["two"], layers: [lower, madeTar([{ name: "etc/os-release", data: "ID=two\n" }])] },
    ]);
  });

  test("is the file system of commands, in each kind of run", async () => {
    const runner = runnerOf({ image: layout, tag: "one" });
    const script = "cat /etc/os-release /usr/lib/added; ls /usr/lib; touch /etc/x 2>&1; echo $PATH";
    const want = `${kRelease}\nadded\nadded\ntouch: /etc/x: Read-only file system\n/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n`;
    expect(await outOf(runner, script)).toBe(want);
    const session = await runner.openSession();
    expect((await session.exec(sh(script))).stdoutText).toBe(want);
    const transaction = await runner.openTransaction({ directory: tempDirectory("state") });
    expect((await transaction.exec(sh(`${script}; echo x >new`))).stdoutText).toBe(want);
    expect((await transaction.changes()).map(({ path }) => path)).toEqual(["new"]);
    await transaction.discard();
    await runner.close();
  });

  test("gives its variables if that is asked for, but no home", async () => {
    process.env.LANG = "C";
    const script = "echo $PATH $LANG $JAVA_HOME $OWN; test $HOME != /nowhere && pwd";
    const asked = runnerOf({ image: layout, tag: "one", env: true });
    expect(await outOf(asked, script)).toBe("/tools:/bin xx /opt/java 1\n/workspace\n");
    const result = await asked.exec({ ...sh(script), env: { OWN: "2", LANG: "yy" } });
    expect(result.stdoutText).toBe("/tools:/bin yy /opt/java 2\n/workspace\n");
    const clean = runnerOf({ image: layout, tag: "one", env: true }, { envPolicy: "clean" });
    expect(await outOf(clean, script)).toBe("/tools:/bin xx /opt/java 1\n/workspace\n");
    const plain = runnerOf({ image: layout, tag: "one" });
    expect(await outOf(plain, "echo $LANG $JAVA_HOME $OWN")).toBe("C\n");
    await Promise.all([asked, clean, plain].map((each) => each.close()));
  });

  test("is unpacked once for all who ask at once, and is the image that is asked for", async () => {
    const runners = Array.from({ length: 4 }, (_, at) =>
      runnerOf({ image: layout, tag: at % 2 === 0 ? "one" : "two" }),
    );
    const all = runners.flatMap((runner) => [1, 2].map(() => outOf(runner, "cat /etc/os-release")));
    const told = await Promise.all(all);
    expect(told).toEqual(
      [0, 1, 0, 1].flatMap((at) => Array(2).fill(at ? "ID=two\n" : "ID=made\n")),
    );
    expect(new ImageStore().list().map(({ isUsed }) => isUsed)).toEqual([true, true]);
    await Promise.all(runners.map((runner) => runner.close()));
    expect(new ImageStore().list().map(({ isUsed }) => isUsed)).toEqual([false, false]);
  });

  test("stays the same for a runner and its transactions, whatever is in its place later", async () => {
    const replaced = tempDirectory("replaced");
    writeLayout(replaced, [{ layers: [layerOfRoot()] }]);
    const runner = runnerOf({ image: replaced });
    expect(await outOf(runner, "cat /etc/os-release")).toBe(`${kRelease}\n`);
    const other = madeTar([{ name: "etc/os-release", data: "ID=other\n" }]);
    writeLayout(replaced, [{ layers: [layerOfRoot(), other] }]);
    const transaction = await runner.openTransaction({ directory: tempDirectory("state") });
    const { stdoutText } = await transaction.exec(sh("cat /etc/os-release"));
    expect(stdoutText).toBe(`${kRelease}\n`);
    await transaction.discard();
    expect(await outOf(runner, "cat /etc/os-release")).toBe(`${kRelease}\n`); // it has it still
    await runner.close();
    const later = runnerOf({ image: replaced }); // the control
    expect(await outOf(later, "cat /etc/os-release")).toBe("ID=other\n");
    await later.close();
  });

  test("can't be pruned while a runner has it", async () => {
    const runner = runnerOf({ image: layout, tag: "two" });
    await runner.exec(sh("true"));
    const { left } = await new ImageStore().prune();
    expect(left).toHaveLength(1);
    expect(await outOf(runner, "cat /etc/os-release")).toBe("ID=two\n");
    await runner.close();
    const { pruned } = await new ImageStore().prune();
    expect(pruned).toHaveLength(1);
    const again = runnerOf({ image: layout, tag: "two" });
    expect(await outOf(again, "cat /etc/os-release")).toBe("ID=two\n");
    await again.close();
  });

  test("fails the set-up where it can't be had, with the reason, and is tried anew later", async () => {
    const late = join(tempDirectory("late"), "layout");
    const runner = runnerOf({ image: late });
    const failed = await Promise.all([1, 2].map(() => outOf(runner, "echo ran")));
    for (const each of failed) {
      expect(each).toMatchObject({
        kind: "setup-failed",
        reason: expect.stringContaining("there is no image") as string,
      });
    }
    await expect(runner.openSession()).rejects.toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    await expect(runner.explain(sh("true"))).rejects.toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    writeLayout(late, [{ layers: [layerOfRoot()] }]);
    expect(await outOf(runner, "cat /etc/os-release")).toBe(`${kRelease}\n`);
    await runner.close();
    const several = runnerOf({ image: layout });
    expect(await outOf(several, "true")).toMatchObject({ kind: "setup-failed" });
    await several.close();
    const damaged = tempDirectory("damaged");
    writeLayout(damaged, [{ layers: [layerOfRoot()] }]);
    const blobs = join(damaged, "blobs/sha256");
    for (const name of readdirSync(blobs)) writeFileSync(join(blobs, name), "no");
    const broken = runnerOf({ image: damaged });
    expect(await outOf(broken, "true")).toMatchObject({
      kind: "setup-failed",
      reason: expect.stringContaining("can't be used") as string,
    });
    await broken.close();
  });

  test("does not keep a call that is aborted waiting", async () => {
    const large = tempDirectory("large");
    const zeros = Buffer.alloc(300 << 20);
    writeLayout(large, [{ layers: [layerOfRoot([{ name: "zeros", data: zeros }])] }]);
    const runner = runnerOf({ image: large });
    const controller = new AbortController();
    const waiting = runner.exec(sh("echo other"));
    let isUnpacked = false;
    void waiting.then(() => {
      isUnpacked = true;
    });
    const run = runner.exec({ ...sh("echo ran"), signal: controller.signal });
    controller.abort();
    const result = await run;
    expect(result.outcome.kind).toBe("aborted");
    expect(result.stdoutText).toBe("");
    expect(isUnpacked).toBe(false);
    expect((await waiting).stdoutText).toBe("other\n");
    await runner.close();
  }, 120_000);

  test("is released by a runner that is closed while it unpacks", async () => {
    const other = tempDirectory("other");
    writeLayout(other, [{ layers: [layerOfRoot([{ name: "other", data: "x" }])] }]);
    const runner = runnerOf({ image: other });
    const run = runner.exec(sh("true"));
    await runner.close();
    await expect(run).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    expect(new ImageStore().list().filter(({ isUsed }) => isUsed)).toEqual([]);
  });

  test("is what a runtime's configuration names, and no other runtime takes its place", async () => {
    const empty = tempDirectory("empty");
    writeLayout(empty, [{ layers: [madeTar([{ name: "file", data: "x" }])] }]);
    const root = { image: layout, tag: "one", env: true };
    const runtime = await createRuntime({ bubblewrap: { root } }, { environment: {} });
    expect(runtime.name).toBe("bubblewrap");
    const runner = runtime.runner({ shadowDir: tempDirectory() });
    const { stdoutText } = await runner.exec(sh("cat /etc/os-release; echo $OWN"));
    expect(stdoutText).toBe(`${kRelease}\n1\n`);
    // One without any program is a root, too: nothing in it can be run.
    const bare = { runtimeType: "bubblewrap", bubblewrap: { root: { image: empty } } } as const;
    expect((await createRuntime(bare, { environment: {} })).name).toBe("bubblewrap");
    for (const runtimeType of ["landlock", "firejail", "native"] as const) {
      const other = createRuntime({ runtimeType, bubblewrap: { root } }, { environment: {} });
      await expect(other).rejects.toThrow(/can't have another root file system/);
    }
    const missing = { bubblewrap: { root: { image: "/none" } }, allowFallbackToNative: true };
    const auto = createRuntime(missing, { environment: {} });
    await expect(auto).rejects.toThrow(/there is no image/);
  });

  describeUnless(whyNoCli, "on the command line", () => {
    const run = (...words: string[]) => command([...kCli, ...words]);
    const workspace = tempDirectory();

    test("is --image, with its variables", () => {
      const one = join(tempDirectory(), "one");
      mkdirSync(one);
      writeLayout(one, [{ layers: [layerOfRoot()], config: { Env: ["OWN=1"] } }]);
      const where = ["--workspace", workspace, "--image", one];
      const ran = run("run", ...where, "--", "sh", "-c", "cat /etc/os-release; echo $OWN");
      expect(ran).toMatchObject({ status: 0, stdout: `${kRelease}\n1\n` });
      const explained = run("explain", ...where, "--", "true");
      expect(explained.stdout).toContain(`the image ${one} (at /)`);
      expect(explained.status).toBe(0);
    });

    test("does not keep doctor from its proofs, where it has no shell", () => {
      const config = join(tempDirectory(), "config.json");
      const empty = tempDirectory("empty-root");
      writeFileSync(config, JSON.stringify({ bubblewrap: { root: { directory: empty } } }));
      const { stdout } = run("doctor", "--config", config, "--json");
      const report = JSON.parse(stdout);
      const found = report.runtimes.find(({ name }: { name: string }) => name === "bubblewrap");
      expect(found).toMatchObject({ state: "available", secrets: { state: "proved" } });
      expect(found.clones.state).toBe("proved");
    });

    test("is --root for a directory", () => {
      const root = madeRoot();
      const ran = run(
        "run",
        "--workspace",
        workspace,
        "--root",
        root,
        "--",
        "ls",
        "/etc/os-release",
      );
      expect(ran).toMatchObject({ status: 0, stdout: "/etc/os-release\n" });
      const missing = run("run", "--workspace", workspace, "--root", root, "--", "python3");
      expect(missing.stderr).toContain("the root file system has none on PATH");
      expect(missing.status).toBe(127);
      const explained = run("explain", "--workspace", workspace, "--root", root, "--", "true");
      expect(explained.stdout).toContain(`${root} (at /)`);
    });

    test.each([
      [["--root", "/srv", "--image", "x"], "--image or --root, not both"],
      [["--root", "/srv", "--ro-bind", "/opt"], "--ro-bind means nothing with --root"],
      [
        ["--image", "x", "--no-default-ro-binds"],
        "--no-default-ro-binds means nothing with --image",
      ],
      [["--image", "x", "--runtime", "landlock"], "--image means nothing to --runtime landlock"],
      [["--root", "x", "--runtime", "firejail"], "--root means nothing to --runtime firejail"],
      [["--image", ""], "--image"],
      [["--root", ""], "--root"],
    ])("refuses %j", (words, message) => {
      const { status, stderr } = run("run", "--workspace", workspace, ...words, "--", "true");
      expect(stderr).toContain(message);
      expect(status).toBe(2);
    });

    test("says what is missing, and how to get it", () => {
      const { stderr, status } = run(
        "run",
        "--workspace",
        workspace,
        "--image",
        "a.test/none:1",
        "--",
        "true",
      );
      expect(stderr).toContain('there is no image "a.test/none:1"');
      expect(stderr).toContain("native-runner image pull a.test/none:1");
      expect(status).not.toBe(0);
    });
  });

  describeUnless(whyNoNatsServer, "on a worker", () => {
    test("is what its policy says, and no caller's to choose", async () => {
      const server = await startNatsServer();
      const workspaces = tempDirectory("workspaces");
      const root = { image: layout, tag: "one" };
      await startWorker({ server: server.url, workspaces, policy: { root } });
      const workspace = tempDirectory("of-caller", workspaces);
      const place = { servers: [server.url], pool: "tests", insecure: true };
      const runner = new RemoteNativeRunner({ ...place, workspace });
      expect((await runner.exec(sh("cat /etc/os-release"))).stdoutText).toBe(`${kRelease}\n`);
      await runner.close();
      const asking = new RemoteNativeRunner({ ...place, workspace, roBinds: ["/usr"] });
      await expect(asking.exec(sh("true"))).rejects.toThrow(/roBinds/);
      await asking.close();
    }, 120_000);
  });
});
