/** What a shell and man(1) get of the command line. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { describeUnless, testUnless } from "../support/requirements.js";

const kPage = fileURLToPath(new URL("../../../dist/native-runner.1", import.meta.url));
const whyNo = (program: string) =>
  spawnSync(program, ["--version"]).status === 0 ? undefined : `${program} is not installed`;

describeUnless(whyNoCli, "completion", () => {
  const script = (shell: string) => command([...kCli, "completion", shell]).stdout;

  /** What bash offers for the last of these words. */
  function offered(...words: string[]): string[] {
    const line = `${script("bash")}
COMP_WORDS=(${["native-runner", ...words].map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length}
_native_runner
printf '%s\\n' "\${COMPREPLY[@]}"`;
    return spawnSync("bash", ["-c", line], { encoding: "utf8" }).stdout.split("\n").filter(Boolean);
  }

  test("offers commands, subcommands, options and their words in bash", () => {
    expect(offered("re")).toEqual(["review"]);
    expect(offered("tx", "pr")).toEqual(["prune"]);
    expect(offered("run", "--allow-h")).toEqual(["--allow-host"]);
    expect(offered("run", "--network", "")).toEqual(["allow", "deny"]);
    expect(offered("tx", "prune", "--dr")).toEqual(["--dry-run"]);
  });

  test("leaves the words of a sandboxed command alone", () => {
    expect(offered("run", "--", "ls", "--al")).toEqual([]);
  });

  for (const [shell, check] of [
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ] as const) {
    testUnless(whyNo(shell), `is a script that ${shell} takes`, () => {
      const { status, stderr } = spawnSync(shell, [...check, "/dev/stdin"], {
        input: script(shell),
      });
      expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: "" });
    });
  }

  test("has every command in zsh and fish", () => {
    for (const name of ["run", "worker", "review", "prune"]) {
      expect(script("zsh")).toMatch(new RegExp(`\\b${name}\\b`));
      expect(script("fish")).toMatch(new RegExp(`-a ${name}\\b`));
    }
  });
});

const whyNoPage = existsSync(kPage) ? whyNo("man") : "dist/native-runner.1 is missing";
describeUnless(whyNoPage, "the man page", () => {
  test("is one that man shows without a warning, with all commands", () => {
    const env = { ...process.env, MANWIDTH: "100", LC_ALL: "C.UTF-8" };
    const { stdout, stderr } = spawnSync("man", ["--warnings", "-l", kPage], {
      encoding: "utf8",
      env,
    });
    expect(stderr).toBe("");
    for (const text of [
      "native-runner run [options] -- COMMAND",
      "--max-output",
      "tx prune",
      "Exit codes of run",
    ]) {
      expect(stdout).toContain(text);
    }
  });
});
