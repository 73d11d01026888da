/** Promise 7: data is data, whatever it looks like. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LocalNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { bytes, run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const kOdd = [
  "--",
  "-",
  "--bind",
  "--ro-bind / /",
  "--help",
  "-e",
  "",
  " ",
  "two words",
  " lead and trail ",
  "a\nb\n",
  "\n",
  "tab\there",
  "quote ' and \" and `",
  "$HOME $(id) {x} \\ * ? [a] ~ ; & | < > !",
  "ünïcödé ß",
  "日本語 🦀 👩‍👩‍👧",
  "\u202eright to left",
  "\u0001\u001b[31m\u007f",
  "e\u0301 is not \u00e9",
];

const printAll = ["sh", "-c", 'for a in "$@"; do printf "%s\\0" "$a"; done', "sh"];

const kMaxArgument = 131_071; // MAX_ARG_STRLEN less its NUL

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`7: arguments, ${label}`, () => {
    test("reach the command as they are", async () => {
      const seen = await run(makeRunner(tempDirectory()), [...printAll, ...kOdd]);
      expect(seen.out.split("\0")).toEqual([...kOdd, ""]);
    });

    test.each(kOdd)("first among them: %j", async (odd) => {
      const seen = await run(makeRunner(tempDirectory()), [...printAll, odd, "--", odd]);
      expect(seen.out.split("\0")).toEqual([odd, "--", odd, ""]);
    });

    test.each(["-dash", "--unshare-all", "two words", "new\nline", "日本語", "a=b"])(
      "a command by the name %j is a command",
      async (name) => {
        const workspace = tempDirectory();
        const made = await run(makeRunner(workspace), ["cp", "/bin/echo", `./${name}`]);
        expect(made.err).toBe("");
        const seen = await run(makeRunner(workspace), [`./${name}`, "ran"]);
        expect(seen).toMatchObject({ out: "ran", exitCode: 0 });
        const found = await run(makeRunner(workspace), [name, "ran"], {
          env: { PATH: label === "local" ? workspace : "/workspace" },
        });
        expect(found).toMatchObject({ out: "ran", exitCode: 0 });
      },
    );

    test("of 131,071 bytes", async () => {
      const long = "x".repeat(kMaxArgument);
      const seen = await run(makeRunner(tempDirectory()), [...printAll, long, "end"]);
      expect(seen.out.split("\0")).toEqual([long, "end", ""]);
    });

    test("of 2 MiB in all", async () => {
      // A quarter of the stack's limit, of usually 8 MiB, less environment and pointers.
      const many = Array.from({ length: 15 }, (_, i) => String(i).padEnd(kMaxArgument - 1, "-"));
      const seen = await run(makeRunner(tempDirectory()), [...printAll, ...many], {
        limits: { maxStdoutBytes: 4 * 2 ** 20 },
      });
      expect(seen.err).toBe("");
      expect(seen.out.split("\0")).toEqual([...many, ""]);
    });

    test.each([
      ["one argument", ["x".repeat(kMaxArgument + 1)]],
      ["all together", Array.from({ length: 40 }, () => "x".repeat(kMaxArgument))],
    ])("too long, %s: not executable, and it says so", async (_, args) => {
      const seen = await run(makeRunner(tempDirectory()), ["echo", ...args]);
      expect(seen).toMatchObject({
        exitCode: 126,
        kind: "not-executable",
        out: "",
        err: "echo: Argument list too long",
      });
    });

    test("many small ones", async () => {
      const many = Array.from({ length: 20_000 }, (_, i) => String(i));
      const seen = await run(makeRunner(tempDirectory()), [
        "sh",
        "-c",
        'echo "$# $20000"',
        "sh",
        ...many,
      ]);
      expect(seen.out).toMatch(/^20000 /);
    });

    test("variables with odd values and names", async () => {
      const env = Object.fromEntries(kOdd.map((value, i) => [`ODD_${i}`, value]));
      const odd = { "--setenv": "x", "a b": "y", ü: "z", "new\nline": "w", "1": "number" };
      const seen = await run(makeRunner(tempDirectory()), ["env", "-0"], {
        env: { ...env, ...odd },
      });
      const got = new Set(seen.out.split("\0"));
      for (const [name, value] of Object.entries({ ...env, ...odd })) {
        expect(got).toContain(`${name}=${value}`);
      }
    });

    test.each([
      "--bind",
      "with spaces",
      "new\nline",
      "日本語 🦀",
      "-x",
      "a:b",
      "quote'\"",
      "back\\slash",
      "#@%",
    ])("a workspace by the name %j", async (name) => {
      const workspace = join(tempDirectory(), name);
      mkdirSync(workspace);
      const wrote = await run(makeRunner(workspace), ["sh", "-c", "cat > file && pwd"], {
        stdin: bytes("data"),
      });
      expect(wrote.out).toBe(label === "local" ? workspace : "/workspace");
      mkdirSync(join(workspace, name));
      const read = await run(makeRunner(workspace), ["cat", "../file"], { cwd: `./${name}` });
      expect(read).toMatchObject({ out: "data", exitCode: 0 });
    });
  });
}

describe("arguments that are no text", () => {
  test("a lone surrogate is replaced, as Node does", async () => {
    const seen = await run(new LocalNativeRunner({ shadowDir: tempDirectory() }), [
      ...printAll,
      "a\ud800b",
    ]);
    expect(seen.out).toBe("a\ufffdb\0");
  });
});
