/** The option `root: { directory }`: commands have another root file system, in each kind of run. */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { BubblewrapNativeRunner, type BubblewrapNativeRunnerOptions } from "../support/package.js";
import { describeUnless, isRoot, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kWayNames, type Options, runnerOf, running, sh, told, withWay } from "../support/ways.js";
import { fillRoot, kRelease, madeRoot, whyNoRoot } from "./made-root.js";

/** All files of a tree with their contents, to see that nothing has changed. */
const listing = (root: string) =>
  spawnSync("sh", ["-c", 'find . | sort; find . -type f -exec cksum {} +; stat -c "%n %a %Y" *'], {
    cwd: root,
    encoding: "utf8",
  }).stdout;

describeUnless(whyNoRoot, "root: { directory }", () => {
  beforeAll(() => {
    process.env.SHELL = "/usr/bin/fish"; // some hosts have none
  });

  test.each(kWayNames)("is the file system of %s, which can't write it", async (name) => {
    const root = madeRoot();
    const before = listing(root);
    const [release, system, written, home, shared] = await withWay(
      name,
      { root: { directory: root } },
      async (way) => [
        await way.exec("cat /etc/os-release"),
        await way.exec("ls / /usr /usr/lib"),
        await way.exec(
          "for at in / /bin /etc /usr/lib; do touch $at/new 2>>errors && echo wrote $at; done; (echo x >>/etc/os-release) 2>>errors && echo appended; rm -f /bin/sh 2>>errors && echo removed; echo x >here && cat here",
        ),
        await way.exec("echo x >/tmp/file && cat /tmp/file; echo y >~/file && cat ~/file"),
        await way.exec("id -u; echo $PATH $SHELL"),
      ],
    );
    expect(release?.out).toBe(`${kRelease}\n`);
    expect(system?.out).not.toMatch(/python|x86_64-linux|node|local/);
    // With the classic flags alone the directory above the mounts is the sandbox's own, and private.
    expect(written?.out).toBe(name === "isolation compat" ? "wrote /\nx\n" : "x\n");
    expect(home?.out).toContain("x\n");
    if (name !== "no home") expect(home?.out).toBe("x\ny\n");
    expect(shared?.out).toBe(
      `${process.geteuid?.()}\n/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /bin/sh\n`,
    );
    expect(listing(root)).toBe(before);
  });

  test.each(["a cold run", "a prewarmed run", "a clone", "a session"])(
    "shows %s what the host has put there since",
    async (name) => {
      const root = madeRoot();
      await withWay(name, { root: { directory: root } }, async (way) => {
        expect((await way.exec("cat /added/file /usr/lib/more")).out).toContain("No such file");
        mkdirSync(join(root, "added"));
        writeFileSync(join(root, "added/file"), "added\n");
        writeFileSync(join(root, "usr/lib/more"), "more\n");
        const { out } = await way.exec("cat /added/file /usr/lib/more");
        // The mounts of a session stay as they were made.
        expect(out).toContain("more\n");
        if (name !== "a session") expect(out).toBe("added\nmore\n");
      });
    },
  );

  test.each(kWayNames)("has links that lead nowhere but inside, in %s", async (name) => {
    const root = madeRoot();
    const outside = tempDirectory("outside");
    writeFileSync(join(outside, "secret"), "SECRET\n");
    symlinkSync(outside, join(root, "out"));
    symlinkSync(join(outside, "secret"), join(root, "etc/secret"));
    symlinkSync("/", join(root, "usr/root"));
    symlinkSync(`../../../../../../../../../..${outside}`, join(root, "usr/lib/up"));
    mkdirSync(join(root, "home"));
    symlinkSync("/usr/share", join(root, "home/link"));
    // The control: on the host they do lead there.
    for (const each of ["out/secret", "etc/secret", "usr/lib/up/secret"]) {
      expect(readFileSync(join(root, each), "utf8")).toBe("SECRET\n");
    }
    const { out } = await withWay(name, { root: { directory: root } }, (way) =>
      way.exec(
        "cat /out/secret /etc/secret /usr/lib/up/secret; cat /usr/root/etc/os-release; ls /home/link/",
      ),
    );
    expect(out).not.toContain("SECRET");
    expect(out.match(/(No such file|can't open)/g)?.length).toBeGreaterThanOrEqual(3);
    expect(out).toContain(kRelease);
  });

  testUnless(
    isRoot ? undefined : "only root can make devices",
    "has devices that nobody can use, and programs that give nobody rights",
    async () => {
      const root = madeRoot();
      mkdirSync(join(root, "srv"));
      for (const each of ["srv/zero", "zero"]) {
        expect(spawnSync("mknod", ["-m", "666", join(root, each), "c", "1", "5"]).status).toBe(0);
      }
      spawnSync("mkfifo", [join(root, "fifo")]);
      chmodSync(join(root, "bin/busybox"), 0o6755);
      const read = "head -c1 /srv/zero | wc -c; head -c1 /zero | wc -c";
      // The control: where devices are not shut out, they can be read.
      const control = spawnSync("head", ["-c1", join(root, "srv/zero")]);
      expect(control.stdout.length).toBe(1);
      const out = await withWay("a cold run", { root: { directory: root } }, (way) =>
        way.exec(`${read}; ls /; grep NoNewPrivs /proc/self/status`),
      );
      expect(out.out).toMatch(/Permission denied/);
      expect(out.out).not.toMatch(/^1$/m);
      expect(out.out).toContain("NoNewPrivs:\t1");
    },
  );

  test("knows the user that commands run as, by name", async () => {
    const root = madeRoot();
    writeFileSync(join(root, "etc/passwd"), "other:x:4242:4242::/:/bin/sh\n");
    writeFileSync(join(root, "etc/group"), "other:x:4242:\n");
    const { out } = await withWay("a cold run", { root: { directory: root } }, (way) =>
      way.exec(
        'id -un; id -gn; grep -c "" /etc/passwd; ls -l here || touch here; stat -c "%U" here',
      ),
    );
    const names = out.split("\n");
    expect(names[0]).not.toMatch(/unknown|^\d*$/);
    expect(names[1]).not.toMatch(/unknown|^\d*$/);
    expect(out).toContain("\n2\n");
    expect(readFileSync(join(root, "etc/passwd"), "utf8")).toBe("other:x:4242:4242::/:/bin/sh\n");
  });

  test("has mounts, a home and the workspace where it has no place for them", async () => {
    const root = madeRoot();
    const data = tempDirectory("data");
    writeFileSync(join(data, "file"), "data\n");
    mkdirSync(join(root, "opt/kept"), { recursive: true });
    writeFileSync(join(root, "opt/kept/file"), "kept\n");
    const mounts = [
      { hostPath: data, guestPath: "/opt/deep/below", mode: "ro" },
      { hostPath: join(data, "file"), guestPath: "/etc/given", mode: "ro" },
      { hostPath: data, guestPath: "/data", mode: "rw" },
    ] as const;
    const runner = runnerOf({ root: { directory: root }, mounts });
    const script =
      "cat /opt/deep/below/file /etc/given /opt/kept/file /etc/os-release; echo x >/data/new; pwd";
    expect(told(await runner.exec(sh(script))).out).toBe(
      `data\ndata\nkept\n${kRelease}\n/workspace\n`,
    );
    expect(readdirSync(data).sort()).toEqual(["file", "new"]);
    expect(existsSync(join(root, "workspace"))).toBe(false);
    await runner.close();
  });

  test("drops variables that name files of the host, and keeps the others", async () => {
    const root = madeRoot();
    const runner = runnerOf({ root: { directory: root }, envPolicy: "inherit" });
    const given = { SSL_CERT_FILE: "/etc/ssl/cert.pem", JAVA_HOME: "/usr/lib/jvm", OTHER: "1" };
    Object.assign(process.env, given);
    try {
      const { out } = told(await runner.exec(sh("env | sort")));
      expect(out).not.toMatch(/SSL_CERT_FILE|JAVA_HOME/);
      expect(out).toContain("OTHER=1");
      const named = { ...sh("env | sort"), env: { JAVA_HOME: "/opt/java", PATH: "/bin" } };
      expect(told(await runner.exec(named)).out).toMatch(
        /JAVA_HOME=\/opt\/java\n(.*\n)*PATH=\/bin\n/,
      );
    } finally {
      for (const name of Object.keys(given)) delete process.env[name];
      await runner.close();
    }
  });

  test("is no place for which a grant is offered, unlike what the host has elsewhere", async () => {
    const root = madeRoot();
    const data = tempDirectory("data");
    writeFileSync(join(data, "file"), "data\n");
    const runner = runnerOf({ root: { directory: root } });
    const { denials } = await runner.exec({
      ...sh(`touch /etc/new; cat ${data}/file; cat /etc/shells`),
      explain: true,
    });
    const found = denials?.map(({ path, grant }) => [path, grant?.option]);
    expect(found).toContainEqual(["/etc/new", undefined]);
    expect(found).toContainEqual([`${data}/file`, "mounts"]);
    expect(found?.map(([target]) => target)).not.toContain("/etc/shells"); // the root has none
    await runner.close();
  });

  test("is in the record and in the policy's hash", async () => {
    const [one, other] = [madeRoot(), madeRoot()];
    const hashes = await Promise.all(
      [one, other, undefined].map(async (directory) => {
        const root = directory === undefined ? undefined : { directory };
        const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), root, prewarm: 0 });
        const { policyHash } = await runner.explain(sh("true"));
        await runner.close();
        return policyHash;
      }),
    );
    expect(new Set(hashes).size).toBe(3);
  });

  test("stays the one that was opened while somebody puts another in its place", async () => {
    const parent = tempDirectory("swap");
    const [root, other, aside] = ["root", "other", "aside"].map((name) => join(parent, name)) as [
      string,
      string,
      string,
    ];
    for (const each of [root, other]) {
      mkdirSync(each);
      fillRoot(each);
    }
    writeFileSync(join(other, "etc/os-release"), "ID=other\n");
    const runner = runnerOf({ root: { directory: root } });
    const live = runner.exec(
      sh("touch begun; while [ ! -e go ]; do sleep 0.05; done; cat /etc/os-release"),
    );
    await eventually("the command has begun", () => existsSync(join(runner.shadowDir, "begun")));
    renameSync(root, aside);
    renameSync(other, root);
    writeFileSync(join(runner.shadowDir, "go"), "");
    expect(told(await live).out).toBe(`${kRelease}\n`);
    expect(told(await runner.exec(sh("cat /etc/os-release"))).out).toBe("ID=other\n");
    await runner.close();
  });
});

describeUnless(whyNoRoot, "a root that can't be had", () => {
  /** Each makes one, and says by what words it is refused. */
  const kRefused: Record<string, () => { options: Options; why: RegExp }> = {
    "is missing": () => ({
      options: { root: { directory: join(tempDirectory(), "none") } },
      why: /root names ".*none", which this host lacks/,
    }),
    "is a file": () => ({
      options: { root: { directory: join(madeRoot(), "etc/passwd") } },
      why: /which is no directory/,
    }),
    "leads to the host's own": () => {
      const directory = join(tempDirectory(), "link");
      symlinkSync("/", directory);
      return { options: { root: { directory } }, why: /is the host's own root directory/ };
    },
    "can be written by everybody": () => {
      const directory = madeRoot();
      chmodSync(directory, 0o777);
      return { options: { root: { directory } }, why: /which everybody can write to/ };
    },
    "is in the workspace": () => {
      const shadowDir = tempDirectory();
      const directory = join(shadowDir, "root");
      mkdirSync(directory);
      fillRoot(directory);
      return {
        options: { root: { directory }, shadowDir },
        why: /which commands could write to by the workspace/,
      };
    },
    "holds the workspace": () => {
      const directory = madeRoot();
      const shadowDir = join(directory, "srv");
      mkdirSync(shadowDir);
      return {
        options: { root: { directory }, shadowDir },
        why: /which commands could write to by the workspace/,
      };
    },
    "can be written by a mount": () => {
      const directory = madeRoot();
      const mounts = [{ hostPath: join(directory, "etc"), guestPath: "/m", mode: "rw" }] as const;
      return { options: { root: { directory }, mounts }, why: /could write to by mounts\[0\]/ };
    },
    "has a link above a mount": () => {
      const directory = madeRoot();
      symlinkSync("/usr", join(directory, "opt"));
      const mounts = [{ hostPath: "/etc", guestPath: "/opt/in", mode: "ro" }] as const;
      return {
        options: { root: { directory }, mounts },
        why: /has a symbolic link at \/opt, above what has to be at \/opt\/in/,
      };
    },
    "has too much where a mount has no place": () => {
      const directory = madeRoot();
      mkdirSync(join(directory, "opt"));
      for (let at = 0; at < 600; at++) writeFileSync(join(directory, `opt/${at}`), "");
      const mounts = [{ hostPath: "/etc", guestPath: "/opt/in", mode: "ro" }] as const;
      return { options: { root: { directory }, mounts }, why: /has more than 500 entries/ };
    },
  };

  test.each(Object.keys(kRefused))("because it %s", async (name) => {
    const { options, why } = (kRefused[name] as () => { options: Options; why: RegExp })();
    const runner = runnerOf(options);
    const result = told(await runner.exec(sh("echo ran")));
    expect(result.kind).toBe("setup-failed");
    expect(result.out).not.toContain("ran");
    expect(result.reason).toMatch(why);
    await expect(runner.openSession()).rejects.toThrow(why);
    await runner.close();
  });

  testUnless(
    isRoot ? undefined : "only root can give a directory away",
    "because it belongs to another user",
    async () => {
      const directory = madeRoot();
      chownSync(directory, 12345, 12345);
      const runner = runnerOf({ root: { directory } });
      expect(told(await runner.exec(sh("true"))).reason).toMatch(/belongs to another user/);
      await runner.close();
    },
  );

  test("is had once it is made (the control)", async () => {
    const parent = tempDirectory();
    const directory = join(parent, "late");
    const runner = runnerOf({ root: { directory } });
    expect((await running(runner).exec("true")).kind).toBe("setup-failed");
    mkdirSync(directory);
    fillRoot(directory);
    expect((await running(runner).exec("true")).kind).toBe("exited");
    await runner.close();
  });
});

describe("the option root", () => {
  const shadowDir = "/tmp";
  const directory = "/srv/root";
  test.each([
    [{ root: {} }, "Expected `root` to name either a `directory` or an `image`"],
    [{ root: { directory, image: "x" } }, "Expected `root` to name either"],
    [{ root: "x" }, "Expected `root` to be an object"],
    [{ root: { directory: 1 } }, "root.directory"],
    [{ root: { directory: "relative" } }, "root.directory"],
    [{ root: { directory: "/a/../b" } }, "root.directory"],
    [{ root: { directory: "/" } }, "root.directory"],
    [{ root: { directori: directory } }, "directori"],
    [{ root: { directory, tag: "x" } }, "`root.tag` to be left out with a `directory`"],
    [{ root: { directory, env: true } }, "`root.env` to be left out with a `directory`"],
    [{ root: { image: "x", tag: 1 } }, "root.tag"],
    [{ root: { image: "x", env: "yes" } }, "root.env"],
    [{ root: { image: "" } }, "root"],
    [{ root: { directory }, roBinds: ["/usr"] }, "Expected `roBinds` to be left out with `root`"],
    [{ root: { directory }, tools: "host" }, 'Expected `tools` to be "none" or left out'],
  ])("refuses %j", (options, message) => {
    const given = { shadowDir, ...options } as unknown as BubblewrapNativeRunnerOptions;
    expect(() => new BubblewrapNativeRunner(given)).toThrow(message);
  });

  test("takes the place of binds and tools", () => {
    const runner = new BubblewrapNativeRunner({ shadowDir, root: { directory }, tools: "none" });
    expect(runner.root).toEqual({ directory });
    expect(runner.roBinds).toEqual([]);
    expect(Object.isFrozen(runner.root)).toBe(true);
  });
});
