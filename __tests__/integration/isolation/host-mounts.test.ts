// As root too: root has more to keep from a command.
/** `mounts`: the host paths that a command gets, in every way in which it gets a sandbox. */

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kPlace, kWays, mounting, tree } from "../support/mounts.js";
import type { NativeMount } from "../support/package.js";
import {
  describeSandboxed,
  describeUnless,
  isRoot,
  testUnless,
  whyNoBindFd,
} from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

/** Says of each path whether it can be written. */
const kWrite = 'for f do (echo new > "$f") 2>/dev/null && echo "wrote $f" || echo "kept $f"; done';
const writes = (...paths: string[]) => `set -- ${paths.join(" ")}; ${kWrite}`;

describeSandboxed("mounts", () => {
  const kOptions: [string, object][] = [
    ["strict", {}],
    ["with Landlock inside", { layers: ["landlock"] }],
    ["compat", { isolation: "compat" }],
  ];
  for (const [name, way] of kWays) {
    test.each(kOptions)(
      `of ${name} show what they are, as they may be used, %s`,
      async (_, options) => {
        if ("isolation" in options && /prewarmed|session|batch/.test(name)) return; // strict only
        const read = tree({ file: "read\n", "deep/file": "deep\n" });
        const write = tree({ file: "write\n" });
        const inner = tree({ file: "inner\n" });
        const single = join(tree({ single: "single\n" }), "single");
        const mounts: NativeMount[] = [
          { hostPath: read, guestPath: "/data/read", mode: "ro", label: "what is read" },
          { hostPath: write, guestPath: "/data/write", mode: "rw" },
          { hostPath: inner, guestPath: "/data/read/deep", mode: "rw" },
          { hostPath: single, guestPath: "/data/single", mode: "ro" },
          { hostPath: read, guestPath: "/workspace/vendor", mode: "ro" },
          { hostPath: single, guestPath: "/workspace/settings", mode: "rw" },
          { hostPath: write, mode: "rw" },
        ];
        const script = `
        cat /data/read/file /data/read/deep/file /data/write/file /data/single vendor/deep/file
        ${writes(
          "/data/read/new",
          "/data/read/deep/new",
          "/data/write/new",
          "/data/single",
          "/data/new",
          "/workspace/vendor/new",
          "/workspace/settings",
          "/workspace/own",
          `${write}/second`,
        )}`;
        const out = await way(mounts, script, options);
        const compat = "isolation" in options;
        expect(out.split("\n")).toEqual([
          "read",
          "inner",
          "write",
          "single",
          "deep",
          "kept /data/read/new",
          "wrote /data/read/deep/new",
          "wrote /data/write/new",
          "kept /data/single",
          `${compat ? "wrote" : "kept"} /data/new`, // compat's root can be written; it is private
          "kept /workspace/vendor/new",
          "wrote /workspace/settings",
          "wrote /workspace/own",
          `wrote ${write}/second`,
          "",
        ]);
        expect(readdirSync(write).sort()).toEqual(["file", "new", "second"]);
        expect(readdirSync(inner).sort()).toEqual(["file", "new"]);
        expect(readdirSync(read).sort()).toEqual(["deep", "file"]);
        expect(readFileSync(single, "utf8")).toBe("new\n");
      },
    );
  }

  test("are read-only with all that lies in them", async () => {
    const read = tree({ "a/b/file": "x" });
    const mounts: NativeMount[] = [{ hostPath: read, guestPath: "/r", mode: "ro" }];
    const paths = writes("/r/new", "/r/a/new", "/r/a/b/new", "/r/a/b/file");
    const script = `${paths}; rm -rf /r/a; mv /r/a /r/c; chmod 777 /r; mkdir /r/d; ln -s x /r/l`;
    expect((await run(mounting(mounts), script)).out).not.toContain("wrote");
    expect(readdirSync(read)).toEqual(["a"]);
    const rw = mounting([{ hostPath: read, guestPath: "/r", mode: "rw" }]);
    expect((await run(rw, paths)).out).not.toContain("kept");
    await run(rw, "rm -rf /r/a /r/new");
    expect(readdirSync(read)).toEqual([]);
  });

  test("can be fifty, in their order, with any name", async () => {
    const names = ["a b", "ü漢字🎉", "new\nline", "'quote\"", "$x;*?", "-dash", "co:lon,comma"];
    const hosts = Array.from({ length: 50 }, (_, i) =>
      tree({ [`${names[i % names.length]}/file`]: `content ${i}\n` }),
    );
    const mounts = hosts.map((root, i): NativeMount => {
      const name = names[i % names.length] ?? "";
      return { hostPath: join(root, name), guestPath: `/m/${i}/${name}`, mode: "ro" };
    });
    const { out, result } = await run(
      mounting(mounts),
      "i=0; while [ $i -lt 50 ]; do cat /m/$i/*/file; i=$((i+1)); done",
    );
    expect(out.split("\n")).toEqual(hosts.map((_, i) => `content ${i}`));
    const argv = result.audits[0]?.argv ?? [];
    const places = mounts.map(({ guestPath = "" }) => argv.indexOf(guestPath));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(argv.indexOf("/etc"));
    expect(places.at(-1)).toBeLessThan(argv.indexOf("/workspace"));
  });

  testUnless(
    whyNoBindFd,
    "follow a symbolic link when a run starts, as the record does",
    async () => {
      const first = tree({ file: "first" });
      const second = tree({ file: "second" });
      const link = join(tree(), "link");
      symlinkSync(first, link);
      const runner = mounting([{ hostPath: link, guestPath: "/data", mode: "ro" }], { prewarm: 1 });
      await runner.warm();
      const seen = await run(runner, "cat /data/file");
      expect(seen.out).toBe("first");
      expect(seen.result.audits[0]?.argv).toContain(first);
      expect(seen.result.audits[0]?.argv).not.toContain(link);
      const next = `${link}.next`;
      symlinkSync(second, next);
      renameSync(next, link);
      expect((await run(runner, "cat /data/file")).out).toBe("second");
      await runner.close();
    },
  );

  describeUnless(whyNoBindFd, "whatever stands", () => {
    test.each(["directory", "file"])("show a %s that was replaced", async (kind) => {
      const root = tree({ "dir/file": "old" });
      const hostPath = join(root, kind === "file" ? "dir/file" : "dir");
      const path = kind === "file" ? "/data" : "/data/file";
      const runner = mounting([{ hostPath, guestPath: "/data", mode: "ro" }], { prewarm: 1 });
      await runner.warm();
      renameSync(hostPath, join(root, "old"));
      if (kind === "directory") mkdirSync(hostPath);
      writeFileSync(join(root, "dir/file"), "new");
      const seen = await run(runner, `cat ${path}`);
      expect(seen.out).toBe("new");
      expect(seen.result.audits[0]?.prewarmed).toBe(false);
      expect(runner.pool()).toMatchObject({ taken: 0, discarded: 1 });
      await runner.close();
    });
  });

  test("are part of the policy's hash, but for their labels", async () => {
    const hostPath = tree();
    const hash = async (...mounts: NativeMount[]) =>
      (await mounting(mounts).explain({ argv: ["true"] })).policyHash;
    const base: NativeMount = { hostPath, guestPath: "/data", mode: "ro" };
    const plain = await hash(base);
    expect(await hash({ ...base, label: "x" })).toBe(plain);
    expect(await hash(base)).toBe(plain);
    const others = [
      await hash(),
      await hash({ ...base, mode: "rw" }),
      await hash({ ...base, guestPath: "/other" }),
      await hash({ ...base, hostPath: "/usr" }),
      await hash(base, { ...base, guestPath: "/other" }),
      await hash({ ...base, guestPath: "/other" }, base),
    ];
    expect(new Set([plain, ...others]).size).toBe(others.length + 1);
  });

  test("are copied when the runner is made", async () => {
    const hostPath = tree({ file: "content" });
    const mount: NativeMount = { hostPath, guestPath: "/data", mode: "ro" };
    const mounts = [mount];
    const runner = mounting(mounts);
    mount.mode = "rw";
    mount.guestPath = "/elsewhere";
    mounts.push({ hostPath: "/", guestPath: "/host", mode: "rw" });
    const { out } = await run(
      runner,
      `cat /data/file; ls -d /host /elsewhere; ${writes("/data/x")}`,
    );
    expect(out).toBe("contentkept /data/x");
    expect(runner.mounts).toEqual([{ hostPath, guestPath: "/data", mode: "ro" }]);
    expect(Object.isFrozen(runner.mounts[0])).toBe(true);
  });

  test("in a workspace that may not be written", async () => {
    const out = tempDirectory("out", kPlace);
    const shadowDir = tempDirectory("work", kPlace);
    const mounts: NativeMount[] = [{ hostPath: out, guestPath: "/workspace/out", mode: "rw" }];
    const runner = mounting(mounts, { shadowDir, allowWriteWorkspace: false });
    const seen = await run(runner, writes("/workspace/file", "/workspace/out/file"));
    expect(seen.out).toBe("kept /workspace/file\nwrote /workspace/out/file");
    expect([readdirSync(shadowDir), readdirSync(out)]).toEqual([[], ["file"]]);
  });
});

describeSandboxed("secrets of root's in a mount", () => {
  describeUnless(isRoot ? undefined : "an ordinary user can't read them anyway", "as root", () => {
    const read = (path: string) => `head -c1 ${path} >/dev/null 2>&1 && echo "read ${path}"`;
    test.each(kWays)("can't be read in %s", async (_, way) => {
      const mounts: NativeMount[] = [
        { hostPath: "/etc", guestPath: "/mnt/etc", mode: "ro" },
        { hostPath: "/etc", guestPath: "/workspace/etc", mode: "rw" },
        { hostPath: "/etc/shadow", guestPath: "/mnt/one", mode: "ro" },
      ];
      const paths = ["/mnt/etc/shadow", "etc/shadow", "/mnt/one", "/etc/shadow"].map(read);
      const control = ["/mnt/etc/passwd", "etc/passwd"].map(read);
      const out = await way(mounts, `${[...paths, ...control].join("; ")}; true`);
      expect(out).toBe("read /mnt/etc/passwd\nread etc/passwd\n");
    });
  });
});
