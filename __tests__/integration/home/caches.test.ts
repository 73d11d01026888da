// As root too: it mounts overlays without a user namespace, and could write what another user owns.
/** The host's package caches, copy-on-write: commands find what is in them, where their tools look. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";

import { describeSandboxed, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { cacheHome, sh } from "./cache-home.js";
import { npmRegistry, whyNo } from "./cache-registries.js";
import { kMark, snapshot } from "./made-home.js";

/** Installs a package on the host, which fills its cache. */
async function hostNpm(registry: string, name: string): Promise<void> {
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--registry", registry];
  const cwd = tempDirectory("host-npm");
  const npm = spawn("npm", ["install", ...flags, name], { cwd, stdio: "ignore" });
  expect(await once(npm, "exit")).toEqual([0, null]);
}

describeSandboxed("the host's package caches", () => {
  test("are found where tools look, and what is written stays with the run", async () => {
    const { home, put, runnerOf } = cacheHome();
    put(".npm/_cacache/index", "of the host\n");
    put(".cache/pip/wheels/one", "wheel\n");
    const before = snapshot(home);
    const runner = runnerOf({ caches: "host" });
    const line =
      "cat ~/.npm/_cacache/index ~/.cache/pip/wheels/one; echo mine > ~/.npm/_cacache/index; " +
      "cat ~/.npm/_cacache/index; ls ~/.npm/_cacache; touch ~/.npm/_cacache/new ~/.npm/beside";
    expect(await sh(runner, line)).toBe("of the host\nwheel\nmine\nindex\n");
    expect(await sh(runner, "cat ~/.npm/_cacache/index; ls ~/.npm/_cacache")).toBe(
      "of the host\nindex\n",
    );
    expect(snapshot(home)).toEqual(before);
    expect(await sh(runnerOf(), "ls ~/.npm 2>&1 || echo none")).toContain("none");
  });

  test("npm installs offline from the host's cache, also while the host installs", async () => {
    const { home, runnerOf } = cacheHome();
    const { url: registry } = await npmRegistry();
    await hostNpm(registry, "tiny");
    const before = snapshot(join(home, ".npm/_cacache"));
    const install = `npm install --offline --no-audit --no-fund --registry ${registry} tiny 2>&1; node -p 'require("tiny")'`;
    expect(await sh(runnerOf(), install)).toContain("ENOTCACHED");
    const runner = runnerOf({ caches: ["npm"] });
    expect(await sh(runner, install)).toMatch(/added 1 package[\s\S]*it works\n$/);
    expect(snapshot(join(home, ".npm/_cacache"))).toEqual(before);
    const again = install.replaceAll("tiny", "other");
    expect(await sh(runner, again)).toContain("ENOTCACHED");
    const [during] = await Promise.all([sh(runner, install), hostNpm(registry, "other")]);
    expect(during).toMatch(/it works\n$/);
    expect(await sh(runner, again)).toMatch(/it works\n$/);
  }, 120_000);

  test("a corrupt entry is what it is on the host, and npm's repair of it stays inside", async () => {
    const { home, runnerOf } = cacheHome();
    const { url: registry } = await npmRegistry();
    await hostNpm(registry, "tiny");
    const [content = ""] = execFileSync("find", [
      join(home, ".npm/_cacache/content-v2"),
      "-type",
      "f",
      "-size",
      "-2",
    ])
      .toString()
      .split("\n");
    writeFileSync(content, "corrupt");
    const before = snapshot(join(home, ".npm/_cacache"));
    const install = `npm install --offline --no-audit --no-fund --registry ${registry} tiny 2>&1`;
    const runner = runnerOf({ caches: ["npm"] });
    expect(await sh(runner, install)).toMatch(/EINTEGRITY|ENOTCACHED|ERR!|error/);
    expect(await sh(runner, "npm cache verify 2>&1")).toMatch(
      /Corrupted content removed: 1|verified/,
    );
    expect(snapshot(join(home, ".npm/_cacache"))).toEqual(before);
  }, 120_000);

  testUnless(
    whyNo("ccache", "gcc"),
    "ccache compiles nothing that the host has compiled",
    async () => {
      const { home, shadowDir, runnerOf } = cacheHome();
      writeFileSync(join(shadowDir, "a.c"), "int main(void) { return 0; }\n");
      const env = { ...process.env, CCACHE_NOHASHDIR: "1" };
      execFileSync("ccache", ["gcc", "-c", "a.c", "-o", "host.o"], { cwd: shadowDir, env });
      const before = snapshot(join(home, ".cache/ccache"));
      const line =
        "ccache --zero-stats > /dev/null; CCACHE_NOHASHDIR=1 ccache gcc -c a.c -o in.o && ccache --print-stats";
      expect(await sh(runnerOf({ caches: ["ccache"] }), line)).toMatch(
        /(direct|preprocessed)_cache_hit\t1/,
      );
      expect(await sh(runnerOf(), line)).toMatch(/cache_miss\t1/);
      expect(snapshot(join(home, ".cache/ccache"))).toEqual(before);
    },
  );

  test("pip finds the wheels that the host has built", async (context) => {
    const why = whyNo("python3");
    if (why !== undefined) return context.skip(why);
    const { home, put, runnerOf } = cacheHome();
    const list = "python3 -m pip cache list 2>&1";
    const probe = await sh(runnerOf(), list);
    if (/No module named pip/.test(probe)) return context.skip("python3 has no pip");
    expect(probe).not.toContain("tiny");
    put(".cache/pip/wheels/aa/bb/cc/dd/tiny-1.0.0-py3-none-any.whl", "wheel");
    const before = snapshot(home);
    expect(await sh(runnerOf({ caches: ["pip"] }), list)).toContain("tiny-1.0.0-py3-none-any.whl");
    const removed = await sh(
      runnerOf({ caches: ["pip"] }),
      `python3 -m pip cache purge 2>&1; ${list}`,
    );
    expect(removed).not.toContain("tiny-1.0.0");
    expect(snapshot(home)).toEqual(before);
  });

  test("in a directory as home, what is written to them goes with the sandbox", async () => {
    const { home, put, runnerOf } = cacheHome();
    put(".npm/_cacache/index", "of the host\n");
    const before = snapshot(home);
    const options = { home: { directory: tempDirectory("chosen", "/var/tmp") } } as const;
    const plain = runnerOf(options);
    await sh(plain, "mkdir -p ~/.npm/_cacache; echo its own > ~/.npm/_cacache/index");
    const runner = runnerOf({ ...options, caches: "host" });
    const line =
      "cat ~/.npm/_cacache/index; echo mine > ~/.npm/_cacache/index; cat ~/.npm/_cacache/index; echo stays > ~/.npm/beside";
    const both = await Promise.all([sh(runner, line), sh(runner, line)]);
    expect(both).toEqual(["of the host\nmine\n", "of the host\nmine\n"]);
    const read = "cat ~/.npm/_cacache/index ~/.npm/beside";
    expect(await sh(runner, read)).toBe("of the host\nstays\n");
    expect(await sh(plain, "cat ~/.npm/_cacache/index")).toBe("its own\n");
    expect(snapshot(home)).toEqual(before);
  });

  test("settings and credentials beside them are not shown", async () => {
    const { put, runnerOf } = cacheHome();
    const secrets = [
      ".npmrc",
      ".cargo/credentials.toml",
      ".cargo/config.toml",
      ".cargo/.git-credentials",
      ".m2/settings.xml",
      ".m2/settings-security.xml",
      ".gradle/gradle.properties",
      ".gradle/init.gradle",
      ".config/pip/pip.conf",
      ".config/ccache/ccache.conf",
      ".cache/ccache/ccache.conf",
      ".ccache/ccache.conf",
      ".cache/deno/location_data/db",
      ".npm/_logs/log",
      ".cache/other/token",
      ".yarn/berry/token",
      ".bun/token",
      "go/src/private/code",
    ];
    for (const path of secrets) put(path, `${kMark}\n`);
    const caches = [
      ".npm/_cacache/f",
      ".cargo/registry/f",
      ".cargo/git/db/f",
      ".m2/repository/f",
      ".gradle/caches/f",
      ".gradle/wrapper/dists/f",
      ".cache/pip/f",
      ".cache/uv/f",
      ".cache/ccache/f",
      ".ccache/f",
      ".cache/deno/f",
      ".cache/yarn/f",
      ".yarn/berry/cache/f",
      ".yarn/berry/metadata/f",
      ".bun/install/cache/f",
      "go/pkg/mod/f",
      ".cache/go-build/f",
      ".local/share/pnpm/store/f",
      ".cache/pnpm/f",
      ".cache/sccache/f",
      ".cache/composer/f",
      ".nuget/packages/f",
    ];
    for (const path of caches) put(path, "cached\n");
    const runner = runnerOf({ caches: "host" });
    const found = await sh(runner, "cd ~; find . -name f | sort; grep -rl SECRET . /tmp");
    expect(found.trimEnd().split("\n")).toEqual(caches.map((path) => `./${path}`).sort());
    const named = await sh(runnerOf({ caches: ["npm", "go"] }), "cd ~; find . -name f | sort");
    expect(named).toBe("./.cache/go-build/f\n./.npm/_cacache/f\n./go/pkg/mod/f\n");
    expect(await sh(runnerOf(), "cd ~; find . -name f")).toBe("");
  });

  test("one that a variable has moved is where the tool looks, with and without the variable", async () => {
    const { home, put, runnerOf } = cacheHome();
    put("elsewhere/npm/_cacache/f", "moved\n");
    put("elsewhere/xdg/uv/f", "moved too\n");
    put(".npm/_cacache/f", "not in use\n");
    vi.stubEnv("npm_config_cache", join(home, "elsewhere/npm"));
    vi.stubEnv("XDG_CACHE_HOME", join(home, "elsewhere/xdg"));
    const line =
      "cat $(printenv npm_config_cache || echo ~/.npm)/_cacache/f $(printenv XDG_CACHE_HOME || echo ~/.cache)/uv/f";
    for (const envPolicy of ["scrub", "inherit", ["HOME", "PATH"]] as const) {
      expect(await sh(runnerOf({ caches: "host", envPolicy }), line)).toBe("moved\nmoved too\n");
    }
  });

  test("what others could change, or commands could write, is left out", async () => {
    const { home, put, shadowDir, runnerOf } = cacheHome();
    put(".npm/_cacache/f", "cached\n");
    chmodSync(join(home, ".npm/_cacache"), 0o777);
    mkdirSync(join(home, ".cache"));
    mkdirSync(join(shadowDir, "pip"));
    symlinkSync(join(shadowDir, "pip"), join(home, ".cache/pip"));
    put("mounted/uv/f", "cached\n");
    symlinkSync(join(home, "mounted/uv"), join(home, ".cache/uv"));
    put(".cache/yarn", "a file\n");
    put(".m2/repository/f", "cached\n");
    put("big/ccache/f", "cached\n");
    symlinkSync(join(home, "big/ccache"), join(home, ".cache/ccache"));
    const mounts = [
      { hostPath: join(home, "mounted"), guestPath: "/mounted", mode: "rw" as const },
    ];
    const runner = runnerOf({ caches: "host", mounts });
    expect(await sh(runner, "cd ~; find . -name f | sort")).toBe(
      "./.cache/ccache/f\n./.m2/repository/f\n",
    );
    const { args, cmd } = await runner.explain({ argv: ["true"] });
    const shown = [cmd, ...args].join(" ");
    expect(shown).toContain(`--overlay-src ${home}/big/ccache --tmp-overlay ${home}/.cache/ccache`);
    expect(shown).not.toMatch(/_cacache|\.cache\/(pip|uv|yarn)/);
  });

  test("explain, audits and the hash of the policy have them", async () => {
    const { home, put, runnerOf } = cacheHome();
    put(".npm/_cacache/f", "cached\n");
    const words = [
      "--overlay-src",
      join(home, ".npm/_cacache"),
      "--tmp-overlay",
      join(home, ".npm/_cacache"),
    ];
    const runner = runnerOf({ caches: "host" });
    const explained = await runner.explain({ argv: ["true"] });
    expect(explained.args.join(" ")).toContain(words.join(" "));
    const { audits } = await runner.exec({ argv: ["true"] });
    expect(audits[0]?.argv.join(" ")).toContain(words.join(" "));
    expect(audits[0]?.policyHash).toBe(explained.policyHash);
    const hashes = [undefined, "none", ["npm"], ["npm", "pip"]] as const;
    const others = await Promise.all(
      hashes.map(
        async (caches) => (await runnerOf({ caches }).explain({ argv: ["true"] })).policyHash,
      ),
    );
    expect(new Set([explained.policyHash, ...others]).size).toBe(4); // "none" is the default
    put(".cache/pip/f", "cached\n");
    const { policyHash } = await runner.explain({ argv: ["true"] });
    expect(policyHash).not.toBe(explained.policyHash);
  });

  test("is checked early", () => {
    const { runnerOf } = cacheHome();
    expect(() => runnerOf({ caches: ["npm", "crago"] })).toThrow(
      /caches\[1\].*"cargo", got "crago"/,
    );
    expect(() => runnerOf({ caches: ["nothing like it"] })).toThrow(/one of npm, pnpm/);
    expect(() => runnerOf({ caches: "hots" as "host" })).toThrow(
      /caches.*"none", "host" or a list/,
    );
    expect(() => runnerOf({ caches: "host", home: "none" }).pool()).toThrow(
      /caches.*"none" or left out with `home: "none"`/,
    );
    expect(() => runnerOf({ caches: "none", home: "none" }).pool()).not.toThrow();
  });

  test("a cache that is gone when a run starts is no failure", async () => {
    const { home, put, runnerOf } = cacheHome();
    put(".npm/_cacache/f", "cached\n");
    const runner = runnerOf({ caches: ["npm", "cargo"], prewarm: 1 });
    await runner.warm();
    expect(await sh(runner, "cat ~/.npm/_cacache/f")).toBe("cached\n");
    rmSync(join(home, ".npm"), { recursive: true });
    expect(await sh(runner, "ls -A ~")).not.toContain(".npm");
    put(".npm/_cacache/f", "made anew\n");
    expect(await sh(runner, "cat ~/.npm/_cacache/f")).toBe("made anew\n");
  });
});
