// As root too, in check:deep: it mounts overlays without a user namespace, and cargo is in root's home where rustup has put it.
/**
 * The host's package caches with the tools that own them: each installs offline what the host has installed, also in
 * the middle of an installation of the host's, and meets a corrupt entry as it does on the host.
 */

import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";

import { eventually } from "../../support/waits.js";
import { describeUnless, isRoot, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { cacheHome, type Options, sh } from "./cache-home.js";
import {
  crateRegistry,
  type Files,
  goProxy,
  kInstalled,
  mavenRegistry,
  npmRegistry,
  onHost,
  putFiles,
  type Registry,
  whyNo,
  whyNotInstalled,
} from "./cache-registries.js";
import { snapshot } from "./made-home.js";

type Tool = {
  cache: "pnpm" | "yarn" | "cargo" | "maven" | "go";
  whyNot: string | undefined;
  /** Where its caches are, below the home. */
  places: readonly string[];
  /** Variables of the host that it needs with this home. */
  variables?(home: string): Record<string, string>;
  serve(): Promise<Registry>;
  /** A project that needs the package. */
  project(name: string, registry: string): Files;
  /** What an installation leaves in the project that it needs to work offline. */
  lock?: string;
  /** Lines that install, with a network and without one, and print what the package says. */
  online: string;
  offline: string;
  /** The path of a package's archive in the registry. */
  archive: RegExp;
  /** What it says offline of a package that is not in the cache. */
  missing: RegExp;
  /** Breaks what the cache has of the only package. */
  corrupt(home: string): void;
  /** What it says offline of that. */
  broken: RegExp;
  /** A line that mends it, with a network. */
  repair: string;
};

const kWorks = /it works/;

/** The one file below a directory that this holds for. */
function theFile(directory: string, holds: (file: string) => boolean): string {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((path) => join(directory, path))
    .filter((file) => statSync(file).isFile() && holds(file));
  expect(files).toHaveLength(1);
  return files[0] ?? "";
}

const packageJson = (name: string): Files => ({
  "package.json": JSON.stringify({
    name: "x",
    version: "1.0.0",
    dependencies: { [name]: "1.0.0" },
  }),
});
const kSays = "node -p 'require(process.env.NAME)'";
const kPnpm = "node $TOOLS/pnpm/bin/pnpm.cjs install --registry $REGISTRY";
const kYarn = "node $TOOLS/yarn/bin/yarn.js install --non-interactive --registry $REGISTRY";
// It takes an environment with CI in it for one in which no lock file may be written.
const kBerry =
  "YARN_ENABLE_IMMUTABLE_INSTALLS=0 YARN_NPM_REGISTRY_SERVER=$REGISTRY YARN_UNSAFE_HTTP_WHITELIST=127.0.0.1 " +
  "YARN_NODE_LINKER=node-modules YARN_ENABLE_TELEMETRY=0 node $TOOLS/@yarnpkg/cli-dist/bin/yarn.js";

const kYarn4: Tool = {
  cache: "yarn",
  whyNot: whyNotInstalled("@yarnpkg/cli-dist"),
  places: [".yarn/berry/cache", ".yarn/berry/metadata"],
  serve: npmRegistry,
  project: packageJson,
  lock: "yarn.lock",
  online: `${kBerry} install; ${kSays}`,
  offline: `YARN_ENABLE_NETWORK=0 ${kBerry} install; ${kSays}`,
  archive: /\.tgz$/,
  missing: /YN0080/,
  corrupt: (home) =>
    writeFileSync(
      theFile(join(home, ".yarn/berry/cache"), (each) => each.endsWith(".zip")),
      "corrupt",
    ),
  broken: /YN0018.*doesn't match the expected checksum/,
  repair: `${kBerry} cache clean --all; ${kBerry} install; ${kSays}`,
};

const kMaven = 'MAVEN_OPTS="-Duser.home=$HOME" mvn -B -q made:say-plugin:1.0.0:say';
function pom(name: string, registry: string): Files {
  const where = `<id>central</id><url>${registry}</url>`;
  const text = `<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
<repositories><repository>${where}</repository></repositories>
<pluginRepositories><pluginRepository>${where}</pluginRepository></pluginRepositories>
<dependencies><dependency><groupId>made</groupId><artifactId>${name}</artifactId><version>1.0.0</version></dependency></dependencies>
</project>
`;
  return { "pom.xml": text };
}

const kGo = "GOFLAGS=-mod=mod GONOSUMDB=made.test GOSUMDB=off GOTOOLCHAIN=local";

/** rustup's cargo finds its toolchain by the home, which the tests replace; the toolchain's own needs none. */
const kSysroot = spawnSync("rustc", ["--print", "sysroot"], { encoding: "utf8" }).stdout?.trim();
const whyNoCargo =
  whyNo("cargo", "rustc", "cc") ?? (kSysroot ? undefined : "rustc has no toolchain");

const kTools: Record<string, Tool> = {
  pnpm: {
    cache: "pnpm",
    whyNot: whyNotInstalled("pnpm"),
    places: [".local/share/pnpm/store", ".cache/pnpm"],
    serve: npmRegistry,
    project: packageJson,
    online: `${kPnpm}; ${kSays}`,
    offline: `${kPnpm} --offline; ${kSays}`,
    archive: /\.tgz$/,
    missing: /ERR_PNPM_NO_OFFLINE_META/,
    corrupt: (home) => {
      const store = join(home, ".local/share/pnpm/store/v10/files");
      const file = theFile(store, (each) => readFileSync(each).includes("it works"));
      writeFileSync(file, "corrupt");
      // pnpm trusts a file that is no younger than its own note of it.
      const later = Date.now() / 1000 + 3600;
      utimesSync(file, later, later);
    },
    broken: /ERR_PNPM_NO_OFFLINE_TARBALL/,
    repair: `${kPnpm}; ${kSays}`,
  },
  "yarn 1": {
    cache: "yarn",
    whyNot: whyNotInstalled("yarn"),
    places: [".cache/yarn"],
    // Root's is in /usr/local/share else.
    variables: (home) => (isRoot ? { YARN_CACHE_FOLDER: join(home, ".cache/yarn") } : {}),
    serve: npmRegistry,
    project: packageJson,
    lock: "yarn.lock",
    online: `${kYarn}; ${kSays}`,
    offline: `${kYarn} --offline; ${kSays}`,
    archive: /\.tgz$/,
    missing: /Can't make a request in offline mode|Couldn't find any versions/,
    corrupt: (home) =>
      writeFileSync(
        theFile(join(home, ".cache/yarn"), (each) => each.endsWith("/.yarn-metadata.json")),
        "{",
      ),
    broken: /SyntaxError: \S+\.yarn-metadata\.json/,
    // "yarn cache clean" removes the directory itself, which is mounted.
    repair: `rm -r ~/.cache/yarn/*; ${kYarn}; ${kSays}`,
  },
  "yarn 4": kYarn4,
  cargo: {
    cache: "cargo",
    whyNot: whyNoCargo,
    places: [".cargo/registry"],
    variables: () => ({ PATH: `${kSysroot}/bin:${process.env.PATH}` }),
    serve: crateRegistry,
    project: (name, registry) => ({
      "Cargo.toml": `[package]\nname = "x"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\n${name} = "1.0.0"\n`,
      "src/main.rs": `fn main() { println!("{}", ${name}::says()); }\n`,
      ".cargo/config.toml": `[source.crates-io]\nreplace-with = "made"\n[source.made]\nregistry = "sparse+${registry}"\n`,
    }),
    online: "cargo run",
    offline: "cargo run --offline",
    archive: /\/download$/,
    missing: /no matching package named `\w+` found/,
    corrupt: (home) => {
      const registry = join(home, ".cargo/registry");
      truncateSync(
        theFile(join(registry, "cache"), (each) => each.endsWith(".crate")),
        100,
      );
      rmSync(join(registry, "src"), { recursive: true });
    },
    broken: /failed to unpack package[\s\S]*unexpected end of file/,
    repair: "rm -r ~/.cargo/registry/cache; cargo run",
  },
  Maven: {
    cache: "maven",
    whyNot: whyNo("mvn", "javac", "jar"),
    places: [".m2/repository"],
    serve: mavenRegistry,
    project: pom,
    online: kMaven,
    offline: `${kMaven} -o`,
    archive: /\.jar$/,
    missing: /Cannot access central .* in offline mode/,
    corrupt: (home) =>
      writeFileSync(join(home, ".m2/repository/made/tiny/1.0.0/tiny-1.0.0.jar"), "corrupt"),
    broken: /can't read \S+tiny-1\.0\.0\.jar/,
    repair: `rm -r ~/.m2/repository/made/tiny; ${kMaven}`,
  },
  Go: {
    cache: "go",
    whyNot: whyNo("go", "python3"),
    places: ["go/pkg/mod", ".cache/go-build"],
    serve: goProxy,
    project: (name) => ({
      "go.mod": `module x\n\ngo 1.19\n\nrequire made.test/${name} v1.0.0\n`,
      "main.go": `package main\n\nimport "made.test/${name}"\n\nfunc main() { println(${name}.Says()) }\n`,
    }),
    online: `${kGo} GOPROXY=$REGISTRY go run .`,
    offline: `${kGo} GOPROXY=off go run .`,
    archive: /\.zip$/,
    missing: /module lookup disabled by GOPROXY=off/,
    corrupt: (home) => {
      const modules = join(home, "go/pkg/mod");
      execFileSync("chmod", ["-R", "u+w", modules]);
      rmSync(join(modules, "made.test"), { recursive: true });
      writeFileSync(join(modules, "cache/download/made.test/tiny/@v/v1.0.0.zip"), "corrupt");
    },
    broken: /not a valid zip file/,
    repair: `rm -r ~/go/pkg/mod/cache/download/made.test; ${kGo} GOPROXY=$REGISTRY go run .`,
  },
};

/** A home with the tool, and a registry that it asks. */
async function hostOf(tool: Tool) {
  const { home, runnerOf } = cacheHome();
  for (const [name, value] of Object.entries(tool.variables?.(home) ?? {})) vi.stubEnv(name, value);
  const registry = await tool.serve();
  const variables = (name: string) => ({ NAME: name, REGISTRY: registry.url });
  /** A project without what another installation has left, but with the lock of the host's. */
  const project = (name: string, from?: string): string => {
    const directory = tempDirectory("project");
    putFiles(directory, tool.project(name, registry.url));
    const lock = tool.lock && from && join(from, tool.lock);
    if (lock && existsSync(lock)) copyFileSync(lock, join(directory, tool.lock ?? ""));
    return directory;
  };
  const mounts = [{ hostPath: kInstalled, guestPath: "/tools", mode: "ro" as const }];
  return {
    registry,
    project,
    /** What a line prints on the host, in a project. */
    host: (directory: string, name: string, line: string) =>
      onHost(directory, line, { ...variables(name), TOOLS: kInstalled }),
    /** What it prints in a sandbox. */
    inside: (directory: string, name: string, line: string, options: Options) =>
      sh(runnerOf({ mounts, ...options, shadowDir: directory }), line, {
        env: { ...variables(name), TOOLS: "/tools" },
      }),
    cached: () => tool.places.flatMap((place) => snapshot(join(home, place))),
    corrupt: () => tool.corrupt(home),
  };
}

for (const [name, tool] of Object.entries(kTools)) {
  describeUnless(whyNoBubblewrap ?? tool.whyNot, `the host's caches of ${name}`, () => {
    const caches = [tool.cache];

    test("serve it offline, also in the middle of an installation on the host", async () => {
      const { host, inside, project, registry, cached } = await hostOf(tool);
      const first = project("tiny");
      expect(await host(first, "tiny", tool.online)).toMatch(kWorks);
      const before = cached();
      const without = await inside(project("tiny", first), "tiny", tool.offline, {});
      expect(without).toMatch(tool.missing);
      expect(without).not.toMatch(kWorks);
      const offline = await inside(project("tiny", first), "tiny", tool.offline, { caches });
      expect(offline).toMatch(kWorks);
      expect(await inside(project("other"), "other", tool.offline, { caches })).toMatch(
        tool.missing,
      );
      expect(cached()).toEqual(before);

      // The sandbox is there before the host begins, and installs while the host waits for the package.
      const during = project("tiny", first);
      const wait = "touch up; until test -e go; do sleep 0.01; done";
      const running = inside(during, "tiny", `${wait}; ${tool.offline}`, { caches });
      await eventually("it runs", () => existsSync(join(during, "up")));
      const held = registry.hold(tool.archive);
      const second = project("other");
      const installing = host(second, "other", tool.online);
      await held.asked;
      writeFileSync(join(during, "go"), "");
      expect(await running).toMatch(kWorks);
      held.give();
      expect(await installing).toMatch(kWorks);
      const after = cached();
      const later = await inside(project("other", second), "other", tool.offline, { caches });
      expect(later).toMatch(kWorks);
      expect(cached()).toEqual(after);
    }, 240_000);

    test("that are corrupt are so inside, and a repair stays inside", async () => {
      const { host, inside, project, cached, corrupt } = await hostOf(tool);
      const first = project("tiny");
      expect(await host(first, "tiny", tool.online)).toMatch(kWorks);
      corrupt();
      const before = cached();
      const offline = () => inside(project("tiny", first), "tiny", tool.offline, { caches });
      expect(await offline()).toMatch(tool.broken);
      const repaired = await inside(project("tiny", first), "tiny", tool.repair, {
        caches,
        network: "allow",
      });
      expect(repaired).toMatch(kWorks);
      expect(cached()).toEqual(before);
      expect(await offline()).toMatch(tool.broken);
      const onTheHost = await host(project("tiny", first), "tiny", tool.offline);
      expect(onTheHost).toMatch(tool.broken);
      expect(onTheHost).not.toMatch(kWorks);
    }, 240_000);
  });
}

describeUnless(whyNoBubblewrap ?? kYarn4.whyNot, "the host's caches of yarn 4", () => {
  test("resolve without a lock file what the host has resolved", async () => {
    const { host, inside, project } = await hostOf(kYarn4);
    expect(await host(project("tiny"), "tiny", kYarn4.online)).toMatch(kWorks);
    const line = `YARN_ENABLE_OFFLINE_MODE=1 ${kYarn4.offline}`;
    expect(await inside(project("tiny"), "tiny", line, {})).toMatch(kYarn4.missing);
    expect(await inside(project("tiny"), "tiny", line, { caches: ["yarn"] })).toMatch(kWorks);
  }, 120_000);
});
