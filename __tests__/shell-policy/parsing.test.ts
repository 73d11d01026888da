import { createRequire } from "node:module";

import { forEachChild, parse, type SyntaxNode } from "unbash";
import { expect, it } from "vitest";
import { Language, Parser } from "web-tree-sitter";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import { kCorpus } from "./corpus/index.js";
import { parsedByBash } from "./support.js";

/** Limits come before parsing. */
const kTexts = kCorpus
  .map(([command]) => command)
  .filter((text) => !/^control|^too-/.test(checkShellCommand(text).blocked?.rule ?? ""));

function commandWords(text: string): string[] {
  const words: string[] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === "Command" && node.name) words.push(node.name.text);
    forEachChild(node, visit);
  };
  visit(parse(text));
  return words.sort();
}

/** Where tree-sitter-bash errs: at a line continuation, a second `$`, the body of a coprocess. */
const kTheirErrors = ["r\\\nm -rf /", "rm$IFS-rf$IFS/", "coproc X { rm -rf /; }"];
/** Reserved words that it takes for commands. */
const kReserved = ["time", "coproc"];

async function treeSitter(): Promise<Parser> {
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve("tree-sitter-bash/tree-sitter-bash.wasm");
  const parser = new Parser();
  parser.setLanguage(await Language.load(grammar));
  return parser;
}

it("reads what bash reads, and nothing else", () => {
  const expected = parsedByBash(kTexts);
  const different = kTexts.filter((text, index) => {
    const ours = (parse(text).errors ?? []).length === 0;
    return ours !== expected[index];
  });
  expect(expected.length).toBe(kTexts.length);
  expect(different).toEqual([]);
});

it("sees the commands that tree-sitter-bash sees", async () => {
  const parser = await treeSitter();
  let compared = 0;
  const different: unknown[] = [];
  for (const text of kTexts) {
    const root = parser.parse(text)?.rootNode;
    if (root === undefined || root.hasError || kTheirErrors.includes(text)) continue;
    if (parse(text).errors !== undefined) continue;
    compared++;
    const theirs = root.descendantsOfType("command_name").map((node) => node?.text ?? "");
    // The other way round it knows declarations and tests as statements of their own.
    const words = [...kReserved, ...commandWords(text)];
    if (!theirs.every((word) => words.includes(word))) different.push([text, theirs, words]);
  }
  expect(compared).toBeGreaterThan(kTexts.length * 0.8);
  expect(different).toEqual([]);
});
