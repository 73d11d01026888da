/** Package managers and the like that run a command in their operands: npx, npm exec, uv run. */

import type { Carrier, Effect } from "../call.js";
import { type OptionGrammar, readOptions } from "../options.js";

type Runner = OptionGrammar & {
  /** The subcommands that run their operands; none for programs that always do. */
  readonly subcommands?: readonly string[];
};

const kNpm: Runner = {
  values: "pcwC",
  flags: "ysqd",
  longValues: ["package", "call", "workspace", "prefix", "registry"],
  longFlags: [
    "yes",
    "no",
    "no-install",
    "quiet",
    "silent",
    "workspaces",
    "ignore-existing",
    "offline",
    "prefer-offline",
  ],
};

const kRunners: Readonly<Record<string, Runner>> = {
  npx: kNpm,
  bunx: { ...kNpm, longFlags: ["bun", "silent", "verbose"] },
  npm: { ...kNpm, subcommands: ["exec", "x"] },
  pnpm: {
    ...kNpm,
    flags: "rswc",
    values: "CF",
    longValues: ["dir", "filter", "package"],
    longFlags: ["recursive", "silent", "parallel", "shell-mode"],
    subcommands: ["exec", "dlx"],
  },
  pnpx: kNpm,
  yarn: { ...kNpm, flags: "sq", longValues: ["cwd", "package"], subcommands: ["exec", "dlx"] },
  uv: {
    values: "pC",
    longValues: ["python", "with", "directory", "project", "extra", "group", "env-file", "package"],
    longFlags: ["frozen", "locked", "isolated", "no-sync", "quiet", "no-project"],
    flags: "qvn",
    subcommands: ["run"],
  },
  uvx: { values: "p", longValues: ["from", "with", "python"], flags: "qvn" },
  poetry: {
    flags: "qvn",
    values: "CP",
    longValues: ["directory", "project"],
    subcommands: ["run"],
  },
  pipenv: { flags: "qv", subcommands: ["run"] },
  pipx: { longValues: ["spec", "python"], flags: "qv", subcommands: ["run"] },
  bundle: { longValues: ["gemfile"], longFlags: ["keep-file-descriptors"], subcommands: ["exec"] },
  conda: {
    values: "np",
    longValues: ["name", "prefix", "cwd"],
    longFlags: ["no-capture-output", "live-stream"],
    subcommands: ["run"],
  },
};

const kCode = new Set(["c", "call"]);

function runner(grammar: Runner): Carrier {
  return ({ words }) => {
    let start = 1;
    if (grammar.subcommands) {
      const own = readOptions(words, 1, grammar);
      if (!grammar.subcommands.includes(words[own.end]?.text ?? "")) return [];
      start = own.end + 1;
    }
    const { options, end, unknown } = readOptions(words, start, grammar);
    const effects = options.flatMap(({ name, value }): Effect[] =>
      value && kCode.has(name) && grammar.values?.includes("c")
        ? [{ kind: "code", word: value }]
        : [],
    );
    if (unknown) {
      const reason = "This check does not know this option of a command that runs another.";
      effects.push({ kind: "finding", rule: "unknown-option", reason, word: unknown });
    }
    const inner = words.slice(end);
    return inner.length > 0 ? [...effects, { kind: "call", words: inner }] : effects;
  };
}

export const kSubcommands: Readonly<Record<string, Carrier>> = Object.fromEntries(
  Object.entries(kRunners).map(([name, grammar]) => [name, runner(grammar)]),
);
