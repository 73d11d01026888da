/** @typedef {import("@openagentic/native-runner").WorkspaceFiles} Files */

/** A file in the root of a project, the command that runs its tests, and whether its text says that there are some. */
const kCommands = /** @type {const} */ ([
  ["package.json", "npm test", hasTestScript],
  ["Cargo.toml", "cargo test", () => true],
  ["go.mod", "go test ./...", () => true],
  ["pytest.ini", "python3 -m pytest", () => true],
  ["pyproject.toml", "python3 -m pytest", (/** @type {string} */ text) => text.includes("pytest")],
  ["Makefile", "make test", (/** @type {string} */ text) => /^test\s*:/m.test(text)],
]);

const kMaxBytes = 1024 ** 2;

/** @param {string} text */
function hasTestScript(text) {
  try {
    return typeof JSON.parse(text)?.scripts?.test === "string";
  } catch {
    return false;
  }
}

/**
 * The command that runs the tests of a project; undefined where none is found.
 * @param {Files} files
 */
export async function findTestCommand(files) {
  for (const [name, command, isMeant] of kCommands) {
    const text = await files.readText(name, { maxBytes: kMaxBytes }).catch(() => undefined);
    if (text !== undefined && isMeant(text)) return command;
  }
  return undefined;
}
