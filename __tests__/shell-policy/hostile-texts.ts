// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is shell text.
/**
 * Texts that are made to take long: what opens something, and whole commands, repeated and nested
 * in each other up to the length limit. Each is made of a seed, so that it can be made again.
 */

import type { Choose } from "./mutations.js";

/** The longest text that is checked at all. */
export const kMostCharacters = 16 * 1024;

const kPieces = (
  '$( ` ( { $(( "$( ${x:- <<a [[ @( a=( a[ $\' <( `$( "` ! f(){ $x {1..9} * ~ \\ | & ; \' " \n é = ' +
  ') } ]] )) /*? /.. /. [ ] ${ $[ <<< (( && || |& >| 2> &> {a..z} {1..64} {a,b} ?( !( \\\n # $" ' +
  "id_ etc/ [^ [a- [[: '\\'' $(< ${a[ ${a/ ${a: , .. :: % < > ? : COPY print| system( env sudo- rm"
).split(" ");

const kCommands = [
  "ls ",
  "echo x;",
  "x=1;",
  '"$(ls)"',
  '"$x" ',
  "$((1+2))",
  "(ls)",
  "ls|",
  "sh -c 'ls';",
  "eval ls;",
  "f(){ ls;};",
  "[[ a = b ]];",
  "a=(b c);",
  "for x in a;do ls;done;",
  "case x in a) ls;;esac;",
  "cat <<E\nx\nE\n",
  "rm -rf /*?/a;",
  "cd a;",
  "sed 's/a/b/' ",
  "awk '{print}' ",
  "git -c a.b=c ",
  "mytool x ",
  "docker run x ",
  "tar xIf a b;",
  "npm exec ls;",
  "hyperfine ls;",
  "read x <<<y;",
  "find . -exec ls {} + ;",
  "xargs ls;",
  "export A=b;",
  "let x=1;",
  "trap 'ls' EXIT;",
  "PATH=a;",
  "tar cf x;",
  "declare a=b;",
  "coproc ls;",
  "ssh h $x$y;",
  "x+=a;",
  "a=$a$b;",
  "f $1;",
  "read a b <<<'c d';",
  "printf -v x %s%s $x y;",
  "echo $((a$x));",
  "ls ${x//a/$y};",
  "declare -n a=b;",
  "vim -c 'g/a/b' ",
  "ex <<E\nau a b\na\nE\n",
];

const kAround: readonly (readonly [string, string])[] = [
  ["$(", ")"],
  ['"$(', ')"'],
  ["(", ")"],
  ["{ ", "\n}"],
  ["sh -c '", "'"],
  ["eval '", "'"],
  ["${x:-", "}"],
  ["$((", "))"],
  ["{a,", "}"],
  ["[[ ", " ]]"],
  ["a=(", ")"],
  ["cat <<E\n", "\nE\n"],
  ["bash <<'E'\n", "\nE\n"],
  ["f(){ ", "\n}"],
  ["awk '", "'"],
  ["sed '", "'"],
  ["let '", "'"],
  ["psql -c '", "'"],
  ["ed x <<E\n", "\nE\n"],
  ["vim -c '", "'"],
  ["rm -rf ", ""],
  ["env ", ""],
  ["git -c alias.a='", "'"],
  ["find . -exec ", " ;"],
  ["cd ", "; cat a a a"],
  ["declare ", ""],
  ["make ", ""],
  ["x='", "'"],
  ["curl | ", ""],
  ["ls | { ", "\n}"],
];

/** Texts that took from 40 ms to seconds before a budget bounded them. */
export const kSlow: readonly string[] = [
  `rm -rf ${"/*?".repeat(5400)}`,
  `rm -rf ${",/*?".repeat(4000)}`,
  "env ".repeat(60) + "a ".repeat(8000),
  `cd ${"a/".repeat(3000)}; cat ${"a ".repeat(4000)}`,
  `sh -c '${"cd a;".repeat(3200)}'`,
  `ed x <<E\n${" \n".repeat(8000)}E`,
  `psql -c '${"copy to ".repeat(2000)}'`,
  `awk '${"print ".repeat(2700)}'`,
  `awk '"${'\\"'.repeat(8000)}'`,
  `let ${"a".repeat(16000)}`,
  `let '${"a[".repeat(8000)}'`,
  `declare ${"[".repeat(16000)}`,
  `x='${"a[".repeat(8000)}'`,
  `sed '${"b;".repeat(8000)}'`,
  `{${"a ".repeat(4000)}\n} | { ${"sh;".repeat(2500)}\n}`,
  `echo ${"$(a ".repeat(60)}${"b ".repeat(7000)}${")".repeat(60)}`,
  `sqlite3 x <<E\n${"\n".repeat(16000)}E`,
  `ftp h <<E\n${"\n".repeat(16000)}E`,
  `vim -es y <<E\n${" :".repeat(8000)}\nE`,
  `mysql -e '${"\n ".repeat(8000)}'`,
  `psql -c '${"\\copy to ".repeat(1700)}'`,
  `awk '${"/[".repeat(8000)}'`,
  `awk '${")/[".repeat(5300)}'`,
  `awk '${'"a" | getline '.repeat(1000)}'`,
  `python3 ${"-m cProfile ".repeat(1300)}`,
  `tar ${"I".repeat(8000)} ${"a ".repeat(4000)}`,
  `docker ${"env ".repeat(60)}${"a ".repeat(8000)}`,
  `mytool ${"a ".repeat(8100)}`,
  `hyperfine ${"ls ".repeat(5300)}`,
  `eval ${"{a,b}".repeat(8)}{${"c".repeat(12000)},d}`,
];

function pick<T>(choose: Choose, choices: readonly T[]): T {
  const chosen = choices[choose(choices.length)];
  if (chosen === undefined) throw new RangeError("no such choice");
  return chosen;
}

function unit(choose: Choose): string {
  const from = () => pick(choose, choose(2) === 0 ? kPieces : kCommands);
  return Array.from({ length: 1 + choose(3) }, from).join("") || " ";
}

/** A text of nearly the greatest length, of ASCII and é only. */
export function hostileText(choose: Choose): string {
  const [one, other] = [unit(choose), unit(choose)];
  let before = "";
  let after = "";
  const same = choose(2) === 0 ? pick(choose, kAround) : undefined;
  for (let depth = choose(same ? 60 : 12); depth > 0; depth--) {
    const [open, close] = same ?? pick(choose, kAround);
    before += open;
    after = close + after;
  }
  const room = (kMostCharacters - 400 - before.length - after.length) / (choose(3) === 0 ? 2 : 1);
  const text = (of: string) => of.repeat(Math.max(0, Math.floor(room / Buffer.byteLength(of))));
  const body = before + text(one) + after;
  const rest = kMostCharacters - Buffer.byteLength(body);
  return rest > Buffer.byteLength(other) * 2
    ? body + other.repeat(rest / Buffer.byteLength(other))
    : body;
}
