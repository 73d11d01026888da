/**
 * Makes a sandbox's ~/.gitconfig of the host's identity and harmless settings. Nothing that runs a program,
 * includes a file or authenticates. Includes are not followed.
 */

/** One setting of a git configuration file (git-config(1), "Syntax"). */
type Setting = { section: string; subsection: string | undefined; name: string; value: string };

/** Names that pass, in lower case, by section. "color" and "alias" have rules of their own. */
const kPassed: Readonly<Record<string, readonly string[]>> = {
  user: ["name", "email", "useconfigonly"],
  init: ["defaultbranch"],
  pull: ["rebase", "ff"],
  push: ["default", "autosetupremote", "followtags", "useforceifincludes"],
  merge: ["conflictstyle", "ff", "renames", "renamelimit", "directoryrenames", "stat", "log"],
  diff: [
    "algorithm",
    "colormoved",
    "colormovedws",
    "context",
    "dirstat",
    "indentheuristic",
    "interhunkcontext",
    "mnemonicprefix",
    "noprefix",
    "renamelimit",
    "renames",
    "statgraphwidth",
    "submodule",
    "suppressblankempty",
    "wordregex",
    "wserrorhighlight",
  ],
};

const kWord = /^[a-z][a-z0-9-]*$/;

function passes({ section, subsection, name, value }: Setting): boolean {
  if (!kWord.test(name) || value.length > 4096) return false;
  if (section === "color") return subsection === undefined || kWord.test(subsection);
  if (subsection !== undefined) return false;
  // "!" starts a shell command, and "-" an option of git's own, which could name any setting.
  if (section === "alias") return !/^\s*[!-]/.test(value);
  return kPassed[section]?.includes(name) ?? false;
}

/** Reads a text from its start, character by character. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }
  peek(): string {
    return this.#text.charAt(this.#at);
  }
  next(): string {
    this.#at += 1;
    return this.#text.charAt(this.#at - 1);
  }
  /** Takes what `pattern`, a sticky expression, matches here. */
  take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }
}

const kBlanks = /[ \t\r]*/y;
const kRestOfLine = /[^\n]*\n?/y;
const kName = /[A-Za-z0-9-]+/y;

/** Reads `[section]` or `[section "subsection"]` after its bracket; undefined: git would refuse it. */
function readSection(scanner: Scanner): Pick<Setting, "section" | "subsection"> | undefined {
  const section = scanner.take(/[A-Za-z0-9.-]+/y).toLowerCase();
  scanner.take(kBlanks);
  const quoted = scanner.take(/"(?:[^"\\\n]|\\[^\n])*"/y);
  scanner.take(kBlanks);
  if (scanner.next() !== "]") return undefined;
  const [before = "", ...after] = section.split(".");
  if (quoted !== "") {
    return { section, subsection: quoted.slice(1, -1).replace(/\\(.)/g, "$1") };
  }
  return { section: before, subsection: after.length > 0 ? after.join(".") : undefined };
}

const kEscapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b" };

/** Reads a value to the end of its line or lines, without quotes and comments. */
function readValue(scanner: Scanner): string {
  let value = "";
  let kept = 0; // blanks at the end do not count, unless they are quoted
  let isQuoted = false;
  while (!scanner.isAtEnd) {
    const letter = scanner.next();
    if (letter === "\n") break;
    if (!isQuoted && (letter === "#" || letter === ";")) {
      scanner.take(kRestOfLine);
      break;
    }
    if (letter === '"') {
      isQuoted = !isQuoted;
      kept = value.length;
    } else if (letter === "\\") {
      scanner.take(/\r(?=\n)/y);
      const escaped = scanner.next();
      if (escaped !== "\n") value += kEscapes[escaped] ?? escaped;
      kept = value.length;
    } else {
      value += letter;
      if (isQuoted || !/[ \t\r]/.test(letter)) kept = value.length;
    }
  }
  return value.slice(0, kept);
}

function* settingsOf(text: string): Generator<Setting> {
  const scanner = new Scanner(text.replace(/^\ufeff/, ""));
  let place: Pick<Setting, "section" | "subsection"> | undefined;
  while (!scanner.isAtEnd) {
    scanner.take(/\s*/y);
    if (scanner.peek() === "[") {
      scanner.next();
      place = readSection(scanner);
      if (place === undefined) return; // git obeys nothing of such a file
      continue;
    }
    const name = scanner.take(kName).toLowerCase();
    scanner.take(kBlanks);
    if (name === "" || place === undefined) {
      scanner.take(kRestOfLine);
    } else if (scanner.peek() === "=") {
      scanner.next();
      scanner.take(kBlanks);
      yield { ...place, name, value: readValue(scanner) };
    } else {
      scanner.take(kRestOfLine);
      yield { ...place, name, value: "true" };
    }
  }
}

const kNeedsEscape: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\n": "\\n",
  "\t": "\\t",
  "\b": "\\b",
};

/** Quotes a value for a git configuration file. */
export const gitConfigQuoted = (value: string) =>
  `"${value.replace(/[\\"\n\t\b]/g, (letter) => kNeedsEscape[letter] ?? "")}"`;

/** Returns the text of a ~/.gitconfig with what may pass of these files' texts; of equal settings the last counts. */
export function harmlessGitConfig(texts: readonly string[]): string {
  const lines: string[] = [];
  let last = "";
  for (const text of texts) {
    for (const setting of settingsOf(text)) {
      if (!passes(setting) || setting.value.includes("\0")) continue;
      const { section, subsection, name, value } = setting;
      const header = subsection === undefined ? `[${section}]` : `[${section} "${subsection}"]`;
      if (header !== last) lines.push(header);
      last = header;
      lines.push(`\t${name} = ${gitConfigQuoted(value)}`);
    }
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
