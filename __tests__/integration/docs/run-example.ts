/** Runs an example as a reader would, and throws where it does not do what the page says. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { parseRuntimeConfig } from "../../../lib/index.js";
import { tsc } from "../../support/run-tsc.js";
import { kHungMs } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import type { Block } from "./code-blocks.js";
import { makePlace, type Place } from "./example-directory.js";
import { matchesShown } from "./shown-output.js";

const kGiven = join(import.meta.dirname, "given");

type Run = (block: Block, place: Place) => Promise<void>;

const wordsOf = (text: string | undefined): string[] => text?.split(", ").filter(Boolean) ?? [];

/** Runs a process to its end; what it wrote to standard output, with the names of the page. */
function finish(place: Place, words: readonly string[]): string {
  const [program = "", ...args] = words;
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    cwd: place.directory,
    encoding: "utf8",
    env: place.env,
    input: "",
    timeout: kHungMs,
  });
  if (status === 0) return place.named(stdout);
  const end = error?.message ?? signal ?? `exit code ${status}`;
  throw new Error(`it failed with ${end}\n${place.named(stdout + stderr)}`);
}

function expectShown(shown: string, actual: string, differs: readonly string[]): void {
  if (matchesShown(shown, actual, differs)) return;
  throw new Error(`the page shows\n${shown}\nbut what came is\n${actual}`);
}

function expectOutput(block: Block, actual: string): void {
  if (block.output) expectShown(block.output.text, actual, block.output.differs);
}

/** What the text around an example has introduced: the names that modules in given/ export. */
function importsOf(block: Block, place: Place): string {
  const lines = wordsOf(block.directives.get("given")).map((name) => {
    const source = readFileSync(join(kGiven, `${name}.mjs`), "utf8");
    cpSync(kGiven, join(place.directory, "given"), { recursive: true });
    const names = [...source.matchAll(/^export (?:const|(?:async )?function) (\w+)/gm)];
    return `import { ${names.map(([, exported]) => exported).join(", ")} } from "./given/${name}.mjs";`;
  });
  return lines.join(" ");
}

/** Writes the module that a block is; the given names are in its first line, so that lines agree. */
function writeModule(block: Block, place: Place, file: string): void {
  const imports = importsOf(block, place);
  writeFileSync(join(place.directory, file), imports + place.real(block.code));
}

const runJavaScript: Run = async (block, place) => {
  const file = `example-${block.line}.mjs`;
  writeModule(block, place, file);
  expectOutput(block, finish(place, [...kNodeInside, file]));
};

const kCompilerOptions = {
  ...{ module: "NodeNext", target: "ES2022", types: ["node"], skipLibCheck: true },
  ...{ strict: true, exactOptionalPropertyTypes: true, allowJs: true },
  ...{ rootDir: ".", outDir: "out" },
};

const runTypeScript: Run = async (block, place) => {
  const name = `example-${block.line}`;
  writeModule(block, place, `${name}.mts`);
  const project = join(place.directory, "tsconfig.json");
  const config = { compilerOptions: kCompilerOptions, files: [`${name}.mts`] };
  writeFileSync(project, JSON.stringify(config));
  const complaint = await tsc("-p", project);
  if (complaint !== "") throw new Error(`it does not compile:\n${complaint}`);
  expectOutput(block, finish(place, [...kNodeInside, join("out", `${name}.mjs`)]));
};

const runShell: Run = async (block, place) => {
  const script = `set -eu -o pipefail\n${place.real(block.code)}`;
  expectOutput(block, finish(place, ["bash", "-c", script]));
};

/** Commands behind `$ `, each followed by the output that it shows; nothing is shown of some. */
const runConsole: Run = async (block, place) => {
  const [before = "", ...commands] = `\n${block.code}`.split(/^\$ /m);
  if (before.trim() !== "") throw new Error(`expected a line that begins with "$ ", got ${before}`);
  for (const text of commands) {
    const [command = ""] = /^(?:.*\\\n)*.*/.exec(text) ?? [];
    const shown = text.slice(command.length).trim();
    const actual = finish(place, ["bash", "-c", `{ ${place.real(command)}\n} 2>&1`]);
    const differs = wordsOf(block.directives.get("differs"));
    if (shown !== "") expectShown(shown, actual, differs);
  }
};

/** Configuration of a runtime; `config: defaults` says that it is what is had without any. */
const runJson: Run = async (block, place) => {
  const config = parseRuntimeConfig(JSON.parse(place.real(block.code)));
  if (block.directives.get("config") !== "defaults") return;
  const { isDeepStrictEqual, inspect } = await import("node:util");
  const defaults = parseRuntimeConfig({});
  if (!isDeepStrictEqual(config, defaults)) {
    throw new Error(
      `the page shows as the defaults\n${block.code}but they are\n${inspect(defaults)}`,
    );
  }
};

const kRunners: Record<string, Run> = {
  js: runJavaScript,
  ts: runTypeScript,
  sh: runShell,
  console: runConsole,
  json: runJson,
};

/** `file: NAME`: the block is not run, but what a later one of the example needs. */
function writeBlock(block: Block, name: string, place: Place): void {
  const file = join(place.directory, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, place.real(block.code));
}

async function runBlock(block: Block, place: Place): Promise<void> {
  for (const what of wordsOf(block.directives.get("files"))) place.addFiles(what);
  const name = block.directives.get("file");
  if (name !== undefined) {
    writeBlock(block, name, place);
    return;
  }
  const run = kRunners[block.language];
  if (run === undefined) {
    const known = Object.keys(kRunners).join(", ");
    throw new Error(
      `no runner for "${block.language}": expected ${known}, or a mark (CONTRIBUTING)`,
    );
  }
  await run(block, place);
}

/** Runs the blocks of an example in one directory, a fresh one, but for those that say why they can't be. */
export async function runExample(blocks: readonly Block[], place = makePlace()): Promise<void> {
  for (const block of blocks) {
    if (block.directives.has("not run")) continue;
    try {
      await runBlock(block, place);
    } catch (error) {
      const at = `${block.page}:${block.line}${block.language && ` (${block.language})`}`;
      throw new Error(`${at}: ${error instanceof Error ? error.message : error}`);
    }
  }
}
