/**
 * Ways to write a command otherwise so that bash reads the same: quotes, escapes, braces, blanks,
 * comments and compound commands. Each is chosen by a number, so that a failure can be replayed.
 */

/** Takes the next choice out of `count`. */
export type Choose = (count: number) => number;

const kCharacters: readonly ((char: string) => string)[] = [
  (char) => char,
  (char) => char,
  (char) => `\\${char}`,
  (char) => `'${char}'`,
  (char) => `"${char}"`,
  (char) => `$'${char}'`,
  (char) => `$'\\x${char.charCodeAt(0).toString(16)}'`,
  (char) => `$'\\${char.charCodeAt(0).toString(8).padStart(3, "0")}'`,
  (char) => `$'\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}'`,
  (char) => `''${char}`,
  (char) => `${char}""`,
  (char) => `\\\n${char}`,
  (char) => (/[A-Za-z0-9]/.test(char) ? `{${char}..${char}}` : char),
];

const kWords: readonly ((word: string) => string)[] = [
  (word) => word,
  (word) => word,
  (word) => `{${word},}`,
  (word) => (/^[\w/.=-]+$/.test(word) ? `'${word}'` : word),
  (word) => (/^[\w/.=-]+$/.test(word) ? `"${word}"` : word),
  (word) => `${word}''`,
];

const kBlanks = [" ", "  ", "\t", " \\\n ", " \t \\\n"];

/** For commands of every kind. */
const kPlaces: readonly ((command: string) => string)[] = [
  (command) => command,
  (command) => `  ${command}  `,
  (command) => `${command} # a comment`,
  (command) => `# a comment\n${command}`,
  (command) => `\n${command}\n`,
  (command) => `true; ${command}`,
  (command) => `true && ${command} || false`,
  (command) => `{ ${command}\n}`,
  (command) => `( ${command}\n)`,
  (command) => `if ${command}\nthen :; fi`,
  (command) => `for _ in 1; do ${command}\ndone`,
  (command) => `: "$(${command}\n)"`,
];

/** For simple commands only. */
const kPrefixes: readonly ((command: string) => string)[] = [
  (command) => `A=1 ${command}`,
  (command) => `>/dev/null ${command}`,
  (command) => `! ${command}`,
  (command) => `env ${command}`,
  (command) => `nohup timeout 5 ${command}`,
];

function pick<T>(choose: Choose, choices: readonly T[]): T {
  const chosen = choices[choose(choices.length)];
  if (chosen === undefined) throw new RangeError("no such choice");
  return chosen;
}

/** A word written otherwise; what is special to the shell in it stays as it is. */
export function mutateWord(word: string, choose: Choose): string {
  const plain = /^[\w/.=+:-]+$/.test(word);
  const chars = [...word].map((char) =>
    /[\w/.-]/.test(char) ? pick(choose, kCharacters)(char) : char,
  );
  return pick(choose, plain ? kWords : kWords.slice(0, 2))(chars.join(""));
}

export function mutateWords(words: readonly string[], choose: Choose): string {
  const mutated = words.map((word) => mutateWord(word, choose));
  const simple = words.every((word) => /^[\w/.:-]+$/.test(word));
  if (simple && words.length > 1 && choose(12) === 0) return `{${mutated.join(",")}}`;
  return mutated.reduce((line, word) => line + pick(choose, kBlanks) + word);
}

/** The whole command in another place, or between others. */
export function mutatePlace(command: string, choose: Choose): string {
  return pick(choose, kPlaces)(command);
}

/** A simple command after what may come before one. */
export function mutatePrefix(command: string, choose: Choose): string {
  return choose(2) === 0 ? command : pick(choose, kPrefixes)(command);
}
