/** The commands before a pipe, as far as it can be told what they are. */

import { forEachChild, type PipelineNode, type SyntaxNode } from "unbash";
import type { Budget } from "../budget.js";
import { basename } from "../call.js";
import { type ShellWord, shellWords } from "./word.js";

/** The names of all commands in it, and their arguments, for the sake of wrappers. */
function commandNames(node: PipelineNode): string[] {
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

export class Upstream {
  readonly #last: PipelineNode;
  readonly #before: Upstream | undefined;
  #names: readonly string[] | undefined;

  constructor(last: PipelineNode, before: Upstream | undefined) {
    this.#last = last;
    this.#before = before;
  }

  /** What runs there; nothing more once the budget is spent, which then refuses the command. */
  names(budget: Budget): readonly string[] {
    if (this.#names === undefined) {
      if (!budget.spend(this.#last.end - this.#last.pos)) return [];
      this.#names = [...(this.#before?.names(budget) ?? []), ...commandNames(this.#last)];
    }
    return budget.spend(this.#names.length) ? this.#names : [];
  }

  /** The arguments of an `echo` or a `printf` that comes last. */
  printed(position: number | undefined, budget: Budget): readonly ShellWord[] {
    const node = this.#last;
    if (node.type !== "Command" || !node.name || !/^(?:echo|printf)$/.test(node.name.value))
      return [];
    return node.args.flatMap((word) =>
      word.type === "Word" ? shellWords(word, position, budget) : [],
    );
  }
}
