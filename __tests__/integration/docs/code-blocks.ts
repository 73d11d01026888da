/**
 * The code blocks of a Markdown page, each with what the comments directly above it say. CONTRIBUTING
 * has the rules for writers. Pure: reads no file.
 */

export const kDirectives = [
  "not run",
  "needs",
  "given",
  "files",
  "file",
  "continues",
  "differs",
  "config",
] as const;

export type Directive = (typeof kDirectives)[number];

export type Block = {
  page: string;
  /** The line of its fence, from 1. */
  line: number;
  language: string;
  code: string;
  directives: ReadonlyMap<Directive, string>;
  /** What the page shows as its output, when a block without a language follows directly. */
  output?: { text: string; differs: readonly string[] };
};

const kFence = /^( *)(`{3,}|~{3,})([^`]*)$/;
const kComment = /^ *<!-- ([a-z ]+?)(?:: (.*?))? -->$/;

function isDirective(name: string): name is Directive {
  return kDirectives.some((known) => known === name);
}

/** What the comments that end above `index` say. An unknown one is a mistake, not a remark. */
function directivesAbove(lines: readonly string[], index: number, at: string) {
  const found = new Map<Directive, string>();
  for (let above = index - 1; lines[above]?.trimStart().startsWith("<!--"); above -= 1) {
    const [, name = "", value = ""] = kComment.exec(lines[above] ?? "") ?? [];
    if (!isDirective(name)) {
      throw new Error(`${at}: expected one of ${kDirectives.join(", ")}, got ${lines[above]}`);
    }
    found.set(name, value);
  }
  return found;
}

/** Every fenced block, in order. */
function fencedBlocks(page: string, text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const opening = kFence.exec(lines[index] ?? "");
    if (!opening) continue;
    const [, indent = "", fence = "", info = ""] = opening;
    const at = `${page}:${index + 1}`;
    const end = lines.findIndex((line, here) => here > index && line === indent + fence);
    if (end < 0) throw new Error(`${at}: the block has no end`);
    blocks.push({
      page,
      line: index + 1,
      language: info.trim(),
      code: lines
        .slice(index + 1, end)
        .map((line) => `${line.startsWith(indent) ? line.slice(indent.length) : line}\n`)
        .join(""),
      directives: directivesAbove(lines, index, at),
    });
    index = end;
  }
  return blocks;
}

const lastLineOf = (block: Block): number => block.line + block.code.split("\n").length;

/** Whether nothing but blank lines and the second block's comments stand between the two. */
function follows(before: Block, block: Block, lines: readonly string[]): boolean {
  const between = lines.slice(lastLineOf(before), block.line - 1);
  return between.every((line) => line.trim() === "" || line.trimStart().startsWith("<!--"));
}

/** The blocks of a page; one without a language that follows another directly is its output. */
export function blocksOf(page: string, text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (const block of fencedBlocks(page, text)) {
    const before = blocks.at(-1);
    const isOutput =
      block.language === "" &&
      !block.directives.has("not run") &&
      before !== undefined &&
      before.output === undefined &&
      follows(before, block, lines);
    if (isOutput) {
      const differs = block.directives.get("differs")?.split(", ") ?? [];
      before.output = { text: block.code, differs };
    } else {
      blocks.push(block);
    }
  }
  return blocks;
}

/** Blocks that share a directory: one, and those marked as going on from it. */
export function examplesOf(blocks: readonly Block[]): Block[][] {
  const examples: Block[][] = [];
  for (const block of blocks) {
    const last = examples.at(-1);
    if (!block.directives.has("continues")) examples.push([block]);
    else if (last) last.push(block);
    else throw new Error(`${block.page}:${block.line}: there is nothing to continue`);
  }
  return examples;
}
