// Reads what a GoogleTest program prints while it runs. Its report file would say the same, but it is
// written at the end only, which a program that crashes does not reach.

const kMark = /\[( RUN {6}| {7}OK | {2}FAILED {2}| {2}SKIPPED )\] ([^\s,]+)/;
const kStates = { OK: "passed", FAILED: "failed", SKIPPED: "skipped" };

/** The tests that `--gtest_list_tests` names, as "Suite.Name". */
export function testsListed(text) {
  const tests = [];
  let suite = "";
  for (const line of text.split("\n")) {
    const name = line.replace(/ {2}#.*/, "").trimEnd();
    if (/^\S+\.$/.test(name)) suite = name;
    else if (suite !== "" && /^ {2}\S/.test(name)) tests.push(suite + name.trim());
  }
  return tests;
}

/** The reason given to GTEST_SKIP(): it stands below "FILE:LINE: Skipped". */
const skipReason = (lines) => lines[lines.findIndex((line) => / ?Skipped$/.test(line)) + 1] ?? "";

/** Takes lines; `results` has { name, state, output, reason } of each test that has ended. */
export class GtestOutput {
  results = [];
  /** The test that has begun and not ended. */
  current;
  /** Lines since the test began, or outside of tests. */
  lines = [];

  take(line) {
    const [mark, word, name] = line.match(kMark) ?? [];
    const state = kStates[word?.trim()];
    if (state === undefined && mark !== undefined) {
      this.current = name;
      this.lines = [];
      return;
    }
    const ends = state !== undefined && name === this.current;
    const text = ends ? line.slice(0, line.indexOf(mark)) : line; // a test may end within a line
    if (text !== "") this.lines.push(text);
    if (ends) this.#end(state);
  }

  /** The program ended within a test: that test has failed. */
  endWith(reason) {
    this.lines.push(reason);
    this.#end("failed");
  }

  #end(state) {
    const reason = state === "skipped" ? skipReason(this.lines) : "";
    this.results.push({ name: this.current, state, output: this.lines.join("\n"), reason });
    this.current = undefined;
    this.lines = [];
  }
}
