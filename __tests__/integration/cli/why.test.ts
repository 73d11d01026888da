/** `native-runner why`: the table, the grants, and the second time. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

describeUnless(whyNoBubblewrap ?? whyNoCli, "why", () => {
  let outside = "";
  beforeAll(() => {
    outside = tempDirectory("outside", "/var/tmp");
    writeFileSync(join(outside, "file"), "contents\n");
    writeFileSync(join(outside, "\u001b[31mred\nline"), "hostile\n");
  });
  const why = (...words: string[]) => command([...kCli, "why", ...words]);

  test("prints what was denied and the option that allows it; the command's exit code stays", () => {
    const { stdout, stderr, status } = why("--", "cat", `${outside}/file`);
    expect(stdout).toContain("openat by cat, ENOENT");
    expect(stdout.trimEnd()).toMatch(new RegExp(`\n {2}--mount ${outside}/file:ro$`));
    expect(stderr).toContain("No such file or directory");
    expect(status).toBe(1);
  });

  test("says so where nothing was denied", () => {
    const { stdout, status } = why("--", "sh", "-c", "cat nope; exit 3");
    expect(stdout).toBe("nothing was denied\n");
    expect(status).toBe(3);
  });

  test("runs it again with the grants when somebody agrees", () => {
    const { stdout, stderr, status } = why("--apply", "--yes", "--", "cat", `${outside}/file`);
    expect(stdout.trimEnd()).toMatch(/nothing was denied$/);
    expect(stderr).toContain("contents");
    expect(status).toBe(0);
  });

  test("grants nothing where nobody can be asked", () => {
    const { stdout, stderr, status } = why("--apply", "--", "cat", `${outside}/file`);
    expect(stdout).toBe("");
    expect(stderr).toContain("--yes");
    expect(status).toBe(2);
  });

  test("as JSON", () => {
    const { stdout } = why("--json", "--apply", "--yes", "--", "cat", `${outside}/file`);
    const mount = { hostPath: `${outside}/file`, guestPath: `${outside}/file`, mode: "ro" };
    expect(JSON.parse(stdout)).toMatchObject({
      exitCode: 1,
      denials: [{ kind: "read", grant: { option: "mounts", value: mount } }],
      options: [`--mount ${outside}/file:ro`],
      again: { exitCode: 0, denials: [] },
    });
  });

  test("sends no control character of a file's name to the terminal", () => {
    const { stdout } = why(
      "--",
      "sh",
      "-c",
      'cat "$0"/*red*; cat "$0/$(printf "\\033[31mred\\nline")"',
      outside,
    );
    expect(stdout).toContain("read ");
    expect(stdout).not.toContain("\u001b");
  });
});
