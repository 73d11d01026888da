// As root too: root makes other namespaces, and has none of its capabilities in them.
/**
 * Hosts on which no sandbox can be made, or a program or file is out of reach: the outcome says why and
 * what helps. Each shows first how the plain program fails there, and last that the fix helps.
 */

import { chmodSync, chownSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import {
  type Answer,
  type Failure,
  plainBwrap,
  toldByLimitedHost,
  whyNoLimitedHost,
} from "../support/limited-host.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import {
  describeSandboxed,
  describeUnless,
  isRoot,
  testUnless,
  whyNoOption,
} from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

type Plain = { status: number; stderr: string };

const kRunner = "new BubblewrapNativeRunner({ shadowDir: workspace })";
const kMaskProc = "mount -t tmpfs -o ro masked /proc/tty";
const kReadOnlySys = "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys";

describeUnless(whyNoLimitedHost ?? whyNoOption("--perms"), "a /proc that is partly hidden", () => {
  test("is named with what helps, and both ways help", () => {
    const told = toldByLimitedHost<{
      control: Plain;
      refused: Answer;
      session: Failure;
      without: Answer;
      project: string;
      unmasked: Answer;
    }>({
      before: kMaskProc,
      script: `
        const control = plain(...${JSON.stringify(plainBwrap("--proc", "/proc"))});
        const runner = ${kRunner};
        const refused = await exec(runner, "true");
        const session = await failure(runner.openSession());
        const without = await exec(new BubblewrapNativeRunner({ shadowDir: workspace, procBind: false }), "echo", "works");
        const project = await new Bwrap(workspace).exec("echo works");
        spawnSync("umount", ["/proc/tty"]);
        tell({ control, refused, session, without, project, unmasked: await exec(${kRunner}, "echo", "works") });`,
    });
    expect(told.control.stderr).toContain("Can't mount proc");
    expect(told.refused.outcome).toMatchObject({
      kind: "setup-failed",
      reason: expect.stringContaining("Can't mount proc"),
      fix: expect.stringMatching(/covers \/proc\/tty.*procBind: false/),
    });
    expect(told.session).toMatchObject({
      code: "ERR_SANDBOX_SETUP",
      fix: told.refused.outcome.fix,
    });
    expect(told.without).toMatchObject({ exitCode: 0, out: "works" });
    expect(told.project).toBe("works\n");
    expect(told.unmasked).toMatchObject({ exitCode: 0, out: "works" });
  });
});

describeUnless(
  whyNoLimitedHost ?? whyNoOption("--disable-userns"),
  "a /proc/sys that is read-only",
  () => {
    const script = `
      const control = plain(...${JSON.stringify(plainBwrap("--disable-userns"))});
      const make = (options) => new BubblewrapNativeRunner({ shadowDir: workspace, procBind: false, ...options });
      const ran = await exec(make(), "unshare", "-U", "echo", "inner");
      const required = await exec(make({ required: ["userns-disabled"] }), "true");
      tell({ control, ran, required });`;
    type Told = { control: Plain; ran: Answer; required: Answer };

    test("costs a run without /proc the second of two walls, and is told where that is required", () => {
      const told = toldByLimitedHost<Told>({ before: `${kMaskProc}; ${kReadOnlySys}`, script });
      expect(told.control.stderr).toContain("max_user_namespaces: Read-only file system");
      expect(told.ran.outcome.kind).toBe("exited");
      expect(told.ran.out, "the filter still refuses a user namespace").toBe("");
      expect(told.ran.layers).toContain("seccomp");
      expect(told.ran.layers).not.toContain("userns-disabled");
      expect(told.required.outcome).toMatchObject({
        kind: "setup-failed",
        reason: expect.stringContaining("userns-disabled"),
      });
    });

    test("but one that can be written costs nothing", () => {
      const told = toldByLimitedHost<Told>({ before: kMaskProc, script });
      expect(told.control).toMatchObject({ status: 0 });
      expect(told.ran.layers).toContain("userns-disabled");
      expect(told.required).toMatchObject({ exitCode: 0 });
    });
  },
);

describeUnless(whyNoLimitedHost, "a host without user namespaces", () => {
  test("is told with the setting, in both interfaces, and the setting helps", () => {
    const told = toldByLimitedHost<{
      control: Plain;
      refused: Answer;
      project: Failure;
      set: Plain;
      after: Answer;
      projectAfter: string;
    }>({
      ownUsers: true,
      before: "echo 0 > /proc/sys/user/max_user_namespaces",
      script: `
        const control = plain("unshare", "-U", "true");
        const refused = await exec(${kRunner}, "true");
        const bwrap = new Bwrap(workspace);
        const project = await failure(bwrap.exec("true"));
        const [, command] = /\`(sysctl [^\`]+)\`/.exec(refused.outcome.fix ?? "") ?? [];
        const set = plain("sh", "-c", command ?? "false");
        const after = await exec(${kRunner}, "echo", "works");
        tell({ control, refused, project, set, after, projectAfter: await bwrap.exec("echo works") });`,
    });
    expect(told.control.status).not.toBe(0);
    expect(told.refused.outcome).toMatchObject({
      kind: "setup-failed",
      fix: expect.stringContaining("sysctl -w user.max_user_namespaces="),
    });
    expect(told.project).toEqual({
      code: "ERR_SANDBOX_SETUP",
      message: told.refused.outcome.reason,
      fix: told.refused.outcome.fix,
    });
    expect(told.set).toMatchObject({ status: 0 });
    expect(told.after).toMatchObject({ exitCode: 0, out: "works" });
    expect(told.projectAfter).toBe("works\n");
  });
});

describeUnless(whyNoLimitedHost, "a file system without a free inode", () => {
  test("is told with what helps, and both ways help", () => {
    const told = toldByLimitedHost<{
      control: Plain;
      refused: Failure;
      unprotected: string;
      left: boolean;
      freed: string;
    }>({
      before: "mount -t tmpfs -o nr_inodes=300,mode=755 small /mnt; mkdir /mnt/project",
      script: `
        const project = "/mnt/project";
        const names = [];
        try {
          for (;;) {
            names.push(project + "/" + names.length);
            fs.writeFileSync(names.at(-1), "");
          }
        } catch (error) {
          names.pop();
          if (error.code !== "ENOSPC") throw error;
        }
        const control = plain("mkdir", project + "/new");
        const refused = await failure(new Bwrap(project).exec("rm 0"));
        const unprotected = await new Bwrap(project, [], false, { readOnly: [] }).exec("rm 1 && echo works");
        const left = fs.existsSync(names[1]);
        for (const name of names.slice(100)) fs.rmSync(name);
        tell({ control, refused, unprotected, left, freed: await new Bwrap(project).exec("rm 0 && echo works") });`,
    });
    expect(told.control.stderr).toContain("No space left on device");
    expect(told.refused).toMatchObject({
      code: "ERR_SANDBOX_SETUP",
      message: expect.stringMatching(/^\/mnt\/project\/.* can't be protected: .*No space left/),
      fix: expect.stringMatching(/inodes.*readOnly: \[\]/),
    });
    expect(told.unprotected).toBe("works\n");
    expect(told.left).toBe(false);
    expect(told.freed).toBe("works\n");
  });
});

describeSandboxed("a program that is a link into what is not mounted", () => {
  const makeLinked = () => {
    const store = tempDirectory("store", "/var/tmp");
    const links = tempDirectory("links", "/var/tmp");
    copyFileSync("/bin/echo", join(store, "tool"));
    chmodSync(join(store, "tool"), 0o755);
    symlinkSync(join(store, "tool"), join(links, "tool"));
    return { target: join(store, "tool"), links, link: join(links, "tool") };
  };

  test.each(["by its name", "by its path"])("is named with its target: %s", async (way) => {
    const { target, links, link } = makeLinked();
    const make = (mounts: { hostPath: string; guestPath?: string; mode: "ro" }[]) =>
      new BubblewrapNativeRunner({ shadowDir: tempDirectory(), mounts });
    const shown = { hostPath: links, mode: "ro" as const };
    const command = [way === "by its name" ? "tool" : link, "works"];
    const input = { env: { PATH: `${links}:/usr/bin:/bin` }, explain: true };
    const seen = await run(make([shown]), command, input);
    expect(seen.kind).toBe("not-found");
    expect(seen.err).toBe(
      `${command[0]}: command not found: ${link} is a link to ${target}, which this sandbox does not show`,
    );
    const [denial] = seen.result.denials;
    expect(denial).toMatchObject({ kind: "exec", path: link, hostPath: target, errno: "ENOENT" });
    expect(denial?.grant).toMatchObject({ option: "mounts", value: { hostPath: target } });
    const granted = denial?.grant?.value as typeof shown;
    expect(await run(make([shown, granted]), command, input)).toMatchObject({ out: "works" });
  });

  test("and one that is in no directory is only not found", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const seen = await run(runner, ["no-such-tool"], { explain: true });
    expect(seen).toMatchObject({ kind: "not-found", err: "no-such-tool: command not found" });
    expect(seen.result.denials).toEqual([]);
  });
});

describeSandboxed("a workspace of another user", () => {
  const kOther = 61_500;
  const makeForeign = (mode: number) => {
    const workspace = tempDirectory("foreign", "/var/tmp");
    writeFileSync(join(workspace, "file"), "theirs\n");
    mkdirSync(join(workspace, "directory"));
    for (const path of [workspace, join(workspace, "file")]) chownSync(path, kOther, kOther);
    chmodSync(workspace, mode);
    return workspace;
  };
  const whyNot = isRoot ? undefined : "only root can work for another user";

  testUnless(whyNot, "is told where root's command may not write, and its owner may", async () => {
    const workspace = makeForeign(0o755);
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace });
    const seen = await run(runner, "echo ours > file", { explain: true });
    expect(seen.err).toContain("Permission denied");
    expect(seen.result.denials).toMatchObject([
      {
        kind: "write",
        path: "/workspace/file",
        notAdvised: expect.stringMatching(/as the file's owner.*`chown`/),
      },
    ]);
    const asOwner = toldByLimitedHost<Answer>({
      before: "true",
      words: ["setpriv", `--reuid=${kOther}`, `--regid=${kOther}`, "--clear-groups"],
      script: `
        const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
        tell(await exec(runner, "sh", "-c", "echo ours > file; cat file"));`,
    });
    expect(asOwner).toMatchObject({ exitCode: 0, out: "ours" });
    chownSync(join(workspace, "file"), 0, 0);
    expect(await run(runner, "echo roots > file; cat file")).toMatchObject({ out: "roots" });
  });

  testUnless(whyNot, "that is closed to others is a set-up failure with what helps", async () => {
    const workspace = makeForeign(0o700);
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace });
    const seen = await run(runner, "cat file");
    expect(seen.result.outcome).toMatchObject({
      kind: "setup-failed",
      reason: expect.stringContaining("Permission denied"),
      fix: expect.stringMatching(/as its owner.*`chown`/),
    });
    chownSync(workspace, 0, 0);
    expect(await run(runner, "cat file")).toMatchObject({ exitCode: 0, out: "theirs" });
  });
});
