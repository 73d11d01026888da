import { expect, it } from "vitest";

import { withGuess, withOptionGuess } from "../lib/guesses.js";

const unknown = (name: string, place: string) =>
  `Unknown field "${name}" in \`${place}\`; did you mean \`another\`?`;

it.each([
  ["cmd", "input", '`argv: ["bash", "-c", "…"]`'],
  ["command", "input", '`argv: ["bash", "-c", "…"]`'],
  ["args", "input", '`argv: ["bash", "-c", "…"]`'],
  ["timeout", "input", "`limits.timeoutMs`"],
  ["onData", "input", "`onStdout`"],
  ["dir", "input", "`cwd`"],
  ["timeout", "limits", "`timeoutMs`"],
  ["maxBuffer", "limits", "`maxStdoutBytes`"],
])("leads from %s of a call's %s to %s", (name, place, field) => {
  expect(withGuess(unknown(name, place))).toBe(
    `Unknown field "${name}" in \`${place}\`; did you mean ${field}?`,
  );
  expect(withOptionGuess(unknown(name, place))).toBe(unknown(name, place));
});

it.each([
  ["workspace", "`shadowDir`"],
  ["dir", "`shadowDir`"],
  ["cwd", "`shadowDir`"],
  ["timeout", "`exec({ limits.timeoutMs })`"],
  ["env", "`exec({ env })`"],
])("leads from %s of a runner's options to %s", (name, field) => {
  expect(withOptionGuess(unknown(name, "options"))).toBe(
    `Unknown field "${name}" in \`options\`; did you mean ${field}?`,
  );
  expect(withGuess(unknown(name, "options"))).toBe(unknown(name, "options"));
});

it("leaves other messages and names as they are", () => {
  for (const message of [unknown("argvs", "input"), unknown("toString", "input"), "Expected `x`"]) {
    expect(withGuess(message)).toBe(message);
    expect(withOptionGuess(message)).toBe(message);
  }
});
