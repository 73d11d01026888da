/**
 * One entry of the table of carriers: how a program's options, operands, other words and input carry
 * commands. What an entry says is from the program's manual; `program-carrier.ts` reads it.
 */

import type { OptionGrammar } from "../options.js";

export type Program = OptionGrammar & {
  /**
   * What the operands are. `command`: one command, after the options that the grammar lists, all of
   * them; `code`: joined, they are read by a shell; `lines`: each is read by a shell; `somewhere`:
   * one of them may begin a command, since the options before it are too many to list; `wrapped`:
   * one of them does.
   */
  readonly runs?: "command" | "code" | "lines" | "somewhere" | "wrapped";
  /** A first operand of its own, which may be missing. */
  readonly first?: RegExp;
  /** Operands of its own before the command. */
  readonly operands?: number;
  /** It runs none of its operands, and options may also follow them. */
  readonly permuted?: boolean;
  /** `NAME=value` operands before the command. */
  readonly assignments?: boolean;
  /**
   * Options whose value is read by a shell or names a program. One letter, a long name without
   * dashes, or with its dash where it has one only (`-wrapper`).
   */
  readonly code?: readonly string[];
  /** Options that load code, or hold some in the program's own language. */
  readonly inline?: readonly string[];
  /** Options that name a file of the program's own commands. */
  readonly scripts?: readonly string[];
  /** Options that name such a file, where it is the input. */
  readonly inputs?: readonly string[];
  /** Letters that take a value where the first word is a bundle of options without a dash. */
  readonly bundle?: string;
  /** Options with which it runs nothing. */
  readonly idle?: readonly string[];
  /** Options with which it starts a shell when no command is given. */
  readonly shell?: readonly string[];
  /** Other words that have it load or run something. */
  readonly refused?: RegExp;
  /** Words of which the first group is read by a shell. */
  readonly assigns?: RegExp;
  /** What its input has it run, where that stands in the command. */
  readonly input?: RegExp;
  /** Input that comes through a pipe may have it run anything. */
  readonly pipe?: boolean;
  /** By the first operand. */
  readonly subcommands?: Readonly<Record<string, Program>>;
};

export type ProgramTable = Readonly<Record<string, Program>>;
