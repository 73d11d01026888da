// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is shell text.
/**
 * Random shell scripts of commands that don't exist (c1 … c7), many of them damaged, to see which
 * of them a real shell would start. They end by themselves: no loop depends on a command.
 */

import type { Choose } from "./mutations.js";

export const kNames = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];

const kJunk = [
  "'",
  '"',
  "`",
  "\\",
  "$",
  "(",
  ")",
  "{",
  "}",
  ";",
  "\n",
  "#",
  "&",
  "|",
  "<",
  ">",
  "$(",
  "${",
  "))",
  "[[",
  " ",
  "!",
  "=",
  "<<E\n",
  "$'",
];

export class ScriptMaker {
  readonly #choose: Choose;

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  /** A script, in one of three cases with characters put in or taken out. */
  script(): string {
    let text = this.#list(4);
    if (this.#choose(3) > 0) return text;
    for (let left = 1 + this.#choose(3); left > 0; left--) {
      const at = this.#choose(text.length + 1);
      const add = this.#choose(2) === 0;
      text = text.slice(0, at) + (add ? this.#pick(kJunk) : "") + text.slice(add ? at : at + 1);
    }
    return text;
  }

  #pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.#choose(choices.length)];
    if (chosen === undefined) throw new RangeError("no such choice");
    return chosen;
  }

  #name(): string {
    return this.#pick(kNames);
  }

  #word(depth: number): string {
    const inner = () => this.#word(depth - 1);
    const list = () => this.#list(depth - 1);
    return this.#pick<() => string>([
      () => this.#pick(["x", '"a b"', "'q'", "$x", "''", "#x", "a#b", "~", "*", "[a", "a=b", "-f"]),
      () => this.#pick(["$'a\\tb'", "$'a\\'b'", "{a,b}", '"\\""', "'\\'", '"\\\\"', '$"a"', "$#"]),
      () => this.#pick(["${#x}", "${x#a}", "${x//'}'/b}", "\"${x//'}'/b}\"", "$((1+1))"]),
      () => `\\${this.#pick(["'", '"', "$", "`", "#", " ", "\\", ";"])}`,
      () => `"$(${list()})"`,
      () => `$(${list()})`,
      () => `\`${this.#name()}\``,
      () => `"\`${this.#name()}\`"`,
      () => `\${x:-${inner()}}`,
      () => `"\${x:-${inner()}}"`,
      () => `\${x%${inner()}}`,
      () => `$((x[$(${this.#name()})]))`,
      () => `<(${this.#name()})`,
    ])();
  }

  #command(depth: number): string {
    const word = () => this.#word(depth - 1);
    const name = this.#name();
    let text = this.#pick([
      name,
      name,
      `a=1 ${name}`,
      `'${name}'`,
      `${name[0]}\\${name[1]}`,
      `>f ${name}`,
      `eval "${name}"`,
      `command ${name}`,
      `! ${name}`,
      `time ${name}`,
      `exec ${name}`,
      ":",
    ]);
    for (let words = this.#choose(3); words > 0; words--) text += ` ${word()}`;
    if (this.#choose(5) > 0) return text;
    return (
      text +
      this.#pick([
        " >f",
        " 2>&1",
        " &>f",
        " <<<x",
        ` &>f ${name}`,
        ` <<E\n${word()}\nE\n`,
        ` <<"E"\n$(${name})\nE\n`,
        ` <<-E\n\t\`${name}\`\n\tE\n`,
      ])
    );
  }

  #list(depth: number): string {
    if (depth <= 0) return this.#name();
    const list = () => this.#list(depth - 1);
    const word = () => this.#word(depth - 1);
    return this.#pick<() => string>([
      () => this.#command(depth),
      () => this.#command(depth),
      () =>
        this.#command(depth) +
        this.#pick([";", "\n", " && ", " || ", " | ", "&", " # c\n", " |& "]) +
        list(),
      () => `(${list()})`,
      () => `{ ${list()}\n}`,
      () => `if ${list()}\nthen ${list()}\nfi`,
      () => `for i in ${word()}; do ${list()}\ndone`,
      () => `case ${word()} in ${this.#pick(["a", "*", "(x", '"$x"'])}) ${list()}\n;; esac`,
      () => `f() { ${list()}\n}; f`,
      () => `function g {\n${list()}\n}; g`,
      () => `[[ ${word()} == ${word()} ]] || ${list()}`,
      () => `[[ a || ${this.#name()} ]]`,
      () => `((${this.#name()}))`,
      () => `((${list()}) )`,
      () => `echo $((${list()}) )`,
      () => `a=(${word()} ${word()})`,
      () => `coproc ${this.#name()}`,
    ])();
  }
}
