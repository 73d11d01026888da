/** Package managers that run a command in the operands of a subcommand. */

import type { Program, ProgramTable } from "../program.js";

const kNpmOptions: Program = {
  values: "pcwC",
  flags: "ysqdgDESBO",
  longValues:
    "package call workspace prefix registry userconfig cache loglevel tag omit include otp".split(
      " ",
    ),
  longFlags: (
    "yes no no-install quiet silent workspaces ignore-existing offline prefer-offline " +
    "if-present verbose"
  ).split(" "),
};
const kNpmExec: Program = { ...kNpmOptions, runs: "command", code: ["c", "call"] };
/** Settings of npm that name a program. */
const kNpm: Program = {
  ...kNpmOptions,
  code: ["script-shell", "editor", "git", "viewer", "shell", "browser"],
  inline: ["node-options", "script-shell", "globalconfig", "init-module"],
};
const kConfig: Program = {
  refused: /^(?:script-shell|editor|git|viewer|shell|browser|node-options|init-module)(?:=|$)/,
};
const kSet: ProgramTable = {
  set: kConfig,
  config: { subcommands: { set: kConfig } },
  c: { subcommands: { set: kConfig } },
};

export const kRunners: ProgramTable = {
  npx: kNpmExec,
  pnpx: kNpmExec,
  bunx: { ...kNpmExec, code: [], longFlags: ["bun", "silent", "verbose"] },
  bun: { subcommands: { x: { ...kNpmExec, code: [], longFlags: ["bun", "silent"] } } },
  npm: { ...kNpm, subcommands: { exec: kNpmExec, x: kNpmExec, ...kSet } },
  pnpm: {
    ...kNpm,
    flags: "rswc",
    values: "CF",
    longValues: ["dir", "filter", "package"],
    longFlags: ["recursive", "silent", "parallel", "shell-mode"],
    subcommands: {
      exec: { ...kNpmOptions, runs: "command", flags: "rc" },
      dlx: { ...kNpmOptions, runs: "command" },
      ...kSet,
    },
  },
  yarn: {
    flags: "sq",
    longValues: ["cwd", "package"],
    inline: ["script-shell", "use-yarnrc"],
    subcommands: {
      exec: { runs: "command" },
      dlx: { runs: "command", values: "p", flags: "q", longValues: ["package"] },
    },
  },
  uv: {
    values: "pC",
    longValues: ["python", "directory", "project"],
    flags: "qvn",
    subcommands: {
      run: {
        runs: "command",
        values: "pC",
        longValues:
          "python with directory project extra group env-file package with-requirements index-url".split(
            " ",
          ),
        longFlags: "frozen locked isolated no-sync quiet no-project all-extras dev no-dev".split(
          " ",
        ),
        flags: "qvnm",
        idle: ["m"],
      },
    },
  },
  uvx: { runs: "command", values: "p", longValues: ["from", "with", "python"], flags: "qvn" },
  poetry: {
    flags: "qvn",
    values: "CP",
    longValues: ["directory", "project"],
    subcommands: { run: { runs: "command" } },
  },
  pipenv: { flags: "qv", subcommands: { run: { runs: "command" } } },
  pipx: {
    subcommands: { run: { runs: "command", longValues: ["spec", "python"], flags: "qv" } },
  },
  bundle: {
    longValues: ["gemfile"],
    subcommands: {
      exec: { runs: "command", longValues: ["gemfile"], longFlags: ["keep-file-descriptors"] },
    },
  },
  conda: {
    subcommands: {
      run: {
        runs: "command",
        values: "np",
        longValues: ["name", "prefix", "cwd"],
        longFlags: ["no-capture-output", "live-stream"],
      },
    },
  },
};
