/** What the commands before a pipe are, as far as it can be told. */

import { forEachChild, type PipelineNode, type SyntaxNode } from "unbash";
import { basename } from "./call.js";
import { type ShellWord, shellWords } from "./word.js";

/** The names of all commands in it, and their arguments, for the sake of wrappers. */
export function commandNames(node: PipelineNode): string[] {
  const found: string[] = [];
  const visit = (each: SyntaxNode): void => {
    if (each.type === "Command") {
      if (each.name) found.push(basename(each.name.value));
      for (const word of each.args) if (word.type === "Word") found.push(basename(word.value));
    } else if (each.type !== "Word" && each.type !== "Assignment") {
      forEachChild(each, visit);
    }
  };
  visit(node);
  return found;
}

/** The arguments of an `echo` or a `printf`. */
export function printed(
  node: PipelineNode | undefined,
  position: number | undefined,
): readonly ShellWord[] {
  if (node?.type !== "Command" || !node.name || !/^(?:echo|printf)$/.test(node.name.value))
    return [];
  return node.args.flatMap((word) => (word.type === "Word" ? shellWords(word, position) : []));
}
