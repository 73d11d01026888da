// What a home and the host's tools cost: to find them, to see that they are the same, and to show them.

import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";

import { kCloned, kCold, openRunner } from "./ours.mjs";
import { madeOnce } from "./projects.mjs";
import { runTime } from "./scenario.mjs";

const kTools = 15;
const kHow = { Cold: "cold", Cloned: "cloned", Landlock: "by Landlock" };

export const scenarios = [
  {
    name: "home-finding",
    work: `the tools of ${kTools} version managers and toolchains are found, first in a process; a host process for each search`,
    variants: ["toolsFound"],
    fresh: true,
    sizes: { full: { rounds: 40, runs: 1 }, quick: { rounds: 8, runs: 1 } },
    request: {},
    measures: [
      { ...runTime, name: "one search", limit: { of: "p50", atMost: 15, aim: 10 } },
      {
        name: "of it, CPU of the process",
        unit: "ms",
        sample: (burst) => burst.cpuMs,
      },
    ],
  },
  {
    name: "home-unchanged",
    work: "that nothing has changed is seen, as each run does; a sample is the mean of 100",
    variants: ["toolsKnown"],
    sizes: { full: { rounds: 20, runs: 20 }, quick: { rounds: 4, runs: 10 } },
    request: {},
    measures: [{ ...runTime, name: "one look", limit: { of: "p50", atMost: 0.2, aim: 0.1 } }],
  },
  ...[
    { name: "home-cold", how: "Cold", bar: { atMost: 1.1, aim: 1.05 } },
    { name: "home-cloned", how: "Cloned", bar: { atMost: 1.05, aim: 1.02 } },
    { name: "home-landlock", how: "Landlock", bar: undefined },
  ].map(({ name, how, bar }) => ({
    name,
    work: `/bin/true, one at a time, ${kHow[how]}, with a home and ${kTools} tools, and with neither`,
    variants: [`tools${how}`, `bare${how}`],
    sizes: { full: { rounds: 40, runs: 20 }, quick: { rounds: 4, runs: 10 } },
    request: { argv: ["/bin/true"], atOnce: 1, ready: "burst" },
    measures: [{ ...runTime, ...(bar && { bars: { [`bare${how}`]: bar } }) }],
  })),
];

// A home as developers have it: programs that are scripts, binaries, shims, and links to what lies elsewhere in it.

const kBinary = "\x7fELF";
const kShell = "#!/usr/bin/env bash\n";

/** Makes the home's files; returns the directories of PATH, relative to it. */
async function fillHome(home) {
  const write = async (path, text) => {
    const at = join(home, path);
    await mkdir(dirname(at), { recursive: true });
    await writeFile(at, text, { mode: 0o755 });
  };
  const link = async (path, target) => {
    const at = join(home, path);
    await mkdir(dirname(at), { recursive: true });
    await symlink(target, at);
  };
  const programs = async (directory, count, text) => {
    for (let at = 0; at < count; at++) await write(`${directory}/p${at}`, text);
  };
  /** Environments of Python, each with one program that ~/.local/bin links to. */
  const environments = async (directory, count, python) => {
    for (let at = 0; at < count; at++) {
      const name = `${directory.split("/").at(-1)}${at}`;
      const bin = `${directory}/${name}/bin`;
      await write(`${directory}/${name}/pyvenv.cfg`, "");
      await link(`${bin}/python`, python);
      await write(`${bin}/${name}`, `#!${home}/${bin}/python\n`);
      await link(`.local/bin/${name}`, join(home, bin, name));
    }
  };

  const node = ".nvm/versions/node/v22.0.0";
  await write(`${node}/bin/node`, kBinary);
  for (const name of ["npm", "npx", "corepack"]) {
    await write(`${node}/lib/node_modules/${name}/cli.js`, "#!/usr/bin/env node\n");
    await link(`${node}/bin/${name}`, `../lib/node_modules/${name}/cli.js`);
  }
  await programs(".pyenv/shims", 120, kShell);
  await programs(".pyenv/versions/3.12/bin", 80, kBinary);
  await programs(".cargo/bin", 20, kBinary);
  for (let at = 0; at < 13; at++) await link(`.cargo/bin/l${at}`, "p0");
  await write(".rustup/toolchains/stable/bin/cargo", kBinary);
  await write(".local/share/uv/python/cpython-3.12/bin/python3.12", kBinary);
  const python = join(home, ".local/share/uv/python/cpython-3.12/bin/python3.12");
  await environments(".local/share/uv/tools", 10, python);
  await environments(".local/share/pipx/venvs", 6, "/usr/bin/python3");
  await programs(".local/bin", 30, kShell);
  await programs(".deno/bin", 1, kBinary);
  await programs(".bun/bin", 1, kBinary);
  await programs("go/bin", 15, kBinary);
  await programs("jdk/bin", 30, kBinary);
  await write("jdk/lib/modules", "");
  await programs(".sdkman/candidates/maven/3/bin", 1, kShell);
  await link(".sdkman/candidates/maven/current", "3");
  await programs(".asdf/shims", 25, kShell);
  await programs(".local/share/mise/installs/zig/1", 1, kBinary);
  await programs(".rbenv/shims", 20, kShell);
  await programs(".volta/bin", 1, kBinary);
  await programs("miniconda3/bin", 400, kShell);
  for (let at = 0; at < 60; at++) await link(`miniconda3/bin/l${at}`, `p${at}`);
}

const kPath = [
  ".nvm/versions/node/v22.0.0/bin",
  ".pyenv/shims",
  ".cargo/bin",
  ".local/bin",
  ".deno/bin",
  ".bun/bin",
  "go/bin",
  "jdk/bin",
  ".sdkman/candidates/maven/current/bin",
  ".asdf/shims",
  ".local/share/mise/installs/zig/1",
  ".rbenv/shims",
  ".volta/bin",
  "miniconda3/bin",
];
const kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Gives this process the home, so that what it runs has it. */
async function live(workspace) {
  const home = join(workspace, "home-of-tools");
  await madeOnce(home, fillHome);
  process.env.HOME = home;
  process.env.PATH = [...kPath.map((path) => join(home, path)), kSystemPath].join(":");
}

/** The search itself, as a runner's first command has it. */
async function openSource({ workspace }) {
  await live(workspace);
  const { HomeSource } = await import("../../dist/home/home-view.js");
  const { loadAddon } = await import("../../dist/native.js");
  loadAddon();
  const source = new HomeSource({ shadowDir: join(workspace, "project-of-tools") });
  return {
    look(times) {
      const { user, system } = process.cpuUsage();
      const from = performance.now();
      for (let time = 0; time < times; time++) source.current();
      const runMs = [(performance.now() - from) / times];
      const after = process.cpuUsage();
      return { runMs, cpuMs: (after.user + after.system - user - system) / 1e3 };
    },
    foundTools: () => source.found().tools.length,
  };
}

/** Its search is over when it is open: a warm-up would be the first one. */
async function openSearch(setup) {
  const { look, foundTools } = await openSource(setup);
  const measured = look(1);
  const count = foundTools();
  if (count < kTools) throw new Error(`${count} of ${kTools} tools were found`);
  return { burst: () => measured };
}

async function openLook(setup) {
  const { look } = await openSource(setup);
  look(1);
  return {
    burst: ({ runs }) => ({ runMs: Array.from({ length: runs }, () => look(100).runMs[0]) }),
  };
}

async function openWithTools(setup) {
  await live(setup.workspace);
  return openRunner({ ...setup, more: { home: "private", tools: "host" } });
}

/** Each run's home is a directory that is made for it and removed. */
const openLandlock = (options) => async (setup) => {
  await live(setup.workspace);
  const { LandlockNativeRunner } = await import("../../dist/index.js");
  const { workspace } = setup;
  const runner = new LandlockNativeRunner({ shadowDir: workspace, network: "deny", ...options });
  return { exec: (input) => runner.exec(input) };
};

const openBare = (setup) => openRunner({ ...setup, more: { home: "none", tools: "none" } });

export const variants = {
  toolsFound: { title: "ours, the first search", kind: "ours", open: openSearch },
  toolsKnown: { title: "ours, nothing changed", kind: "ours", open: openLook },
  toolsCold: { title: "home and tools, cold", kind: "ours", open: openWithTools, options: kCold },
  bareCold: { title: "neither, cold", kind: "ours", open: openBare, options: kCold },
  toolsCloned: {
    title: "home and tools, cloned",
    kind: "ours",
    open: openWithTools,
    options: kCloned,
  },
  toolsLandlock: {
    title: "home and tools, Landlock",
    kind: "ours",
    open: openLandlock({ home: "private", tools: "host" }),
  },
  bareLandlock: {
    title: "neither, Landlock",
    kind: "ours",
    open: openLandlock({ home: "none", tools: "none" }),
  },
  bareCloned: { title: "neither, cloned", kind: "ours", open: openBare, options: kCloned },
};
