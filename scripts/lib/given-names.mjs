// The names that a C++ file gives at the level of its namespaces, read off its lines: clang-format has
// those begin at the first column. Good enough to tell which files can be read as one source.

const kType =
  /^(?:using (\w+) =|(?:enum class|enum|struct|class|union) (\w+)(?: final)?(?: :.*)? ?\{)/;
const kNoValue = /^(?:using|struct|class|enum|union|namespace|static_assert|typedef)\b/;
const kValue = /^\w[^(={;]*?\b(\w+)(?:\[[^\]]*\])?\s*[(={;]/;
const kMacro = /^#\s*define (\w+)/;

const found = (lines, pattern) =>
  lines.flatMap((line) => {
    const match = pattern.exec(line);
    return match === null ? [] : [match[1] ?? match[2]];
  });

/** The types and aliases of a text. */
export const givenTypes = (text) => found(text.split("\n"), kType);

/** Those, its functions (not those of a class), its variables and its macros. */
export function givenNames(text) {
  const lines = text.split("\n");
  const values = lines.filter((line) => !kNoValue.test(line) && !/^[^(]*\w::~?\w+\(/.test(line));
  return [...givenTypes(text), ...found(values, kValue), ...found(lines, kMacro)];
}

/** Whether it defines functions of the C library, which no other file may then see declared otherwise. */
export const givesC = (text) => /^extern "C"/m.test(text);
