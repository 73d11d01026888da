import { describe, expect, it } from "vitest";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import type { ShellPolicy } from "../../lib/shell-policy/policy.js";
import { kBuilderCarriers } from "./corpus/carriers/builders.js";
import { programsOf } from "./corpus/carriers/case.js";
import { kGitCarriers } from "./corpus/carriers/git.js";
import { kHiddenWords } from "./corpus/carriers/hidden-words.js";
import { kOperandCarriers } from "./corpus/carriers/operands.js";
import { kToolCarriers } from "./corpus/carriers/tools.js";
import { kUnknownCarriers } from "./corpus/carriers/unknown.js";
import { kVariableCarriers } from "./corpus/carriers/variables.js";
import { kAllowlist } from "./corpus/case.js";
import { kEveryday } from "./corpus/everyday.js";

function strict(...programs: readonly string[]): ShellPolicy {
  const shellAllowlist = [...kAllowlist, ...programs];
  return { shellAllowlist, shellAllowlistMode: "strict", shell: "bash" };
}

describe.each([
  ["a word that hides a command", kHiddenWords],
  ["an operand that is a command", kOperandCarriers],
  ["version control", kGitCarriers],
  ["compilers, build tools and interpreters", kBuilderCarriers],
  ["other programs", kToolCarriers],
  ["variables", kVariableCarriers],
  ["programs that no table knows", kUnknownCarriers],
])("%s", (_, cases) => {
  it.each(cases)("%j is refused, %j is not", (hostile, harmless) => {
    const policy = strict(...programsOf(hostile), ...programsOf(harmless));
    expect(checkShellCommand(harmless, policy).blocked).toBeUndefined();
    expect(checkShellCommand(harmless, { shell: "bash" }).blocked).toBeUndefined();
    expect(checkShellCommand(hostile, policy).allowed).toBe(false);
  });
});

describe("a program that no table knows", () => {
  const operands = kOperandCarriers.flatMap(([command]) => {
    const [, ...words] = command.split(" ");
    return /^[\w./ =:-]+$/.test(command) && words.includes("reboot") ? [words.join(" ")] : [];
  });

  it("is refused with the words of any that runs its operands", () => {
    expect(operands.length).toBeGreaterThan(80);
    const passed = operands.filter(
      (words) => checkShellCommand(`mytool ${words}`, strict("mytool")).allowed,
    );
    expect(passed).toEqual([]);
  });

  it("is refused where it lies, and only warned of in warn mode", () => {
    const policy = strict("/opt/mytool");
    expect(checkShellCommand("/opt/mytool x", policy).allowed).toBe(true);
    expect(checkShellCommand("/opt/mytool reboot", policy).blocked).toMatchObject({
      rule: "unknown-option",
      command: "reboot",
      position: 12,
    });
    const { allowed, warnings } = checkShellCommand("/opt/mytool reboot", {
      ...policy,
      shellAllowlistMode: "warn",
    });
    expect(allowed).toBe(true);
    expect(warnings).toMatchObject([{ rule: "unknown-option" }]);
  });

  it("is left alone by the block list, which does not know it either", () => {
    expect(checkShellCommand("mytool reboot").allowed).toBe(true);
  });
});

describe("everyday commands", () => {
  /** Programs that an everyday command has another run. */
  const kInner = "apt-get basename bash git jest node npm postgres psql true uname".split(" ");
  const programs = kEveryday.flatMap((command) => [...programsOf(command), "["]);

  it("are enough, and each is there once", () => {
    expect(kEveryday.length).toBeGreaterThanOrEqual(200);
    expect(new Set(kEveryday).size).toBe(kEveryday.length);
  });

  it("pass the block list", () => {
    const refused = kEveryday.filter((command) => !checkShellCommand(command).allowed);
    expect(refused).toEqual([]);
  });

  it("pass an allow list with their programs", () => {
    const policy = strict(...programs, ...kInner);
    const refused = kEveryday.filter((command) => !checkShellCommand(command, policy).allowed);
    expect(refused).toEqual([]);
  });
});
