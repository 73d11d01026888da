import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, it } from "vitest";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import { kNames, ScriptMaker } from "./scripts.js";
import { startedBy } from "./support.js";

const kScripts = 150;
const kOthers = ["cat", "f", "g", "x", "eval", ":", "echo", "command", "exec", "time", "[["];

let directory = "";

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "shell-policy-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function choosing(seed: number) {
  let state = seed;
  return (count: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * count);
  };
}

/** sh is dash on Debian and bash on others: both must start nothing that strict mode did not see. */
it.each(["sh", "bash"] as const)(
  "sees each command that %s starts",
  (shell) => {
    const maker = new ScriptMaker(choosing(11));
    let started = 0;
    for (let run = 0; run < kScripts; run++) {
      const text = maker.script();
      for (const name of startedBy(shell, text, kNames, directory)) {
        started++;
        const shellAllowlist = [...kOthers, ...kNames.filter((each) => each !== name)];
        const policy = { shellAllowlist, shellAllowlistMode: "strict", shell } as const;
        expect(checkShellCommand(text, policy).allowed, `${name} in ${JSON.stringify(text)}`).toBe(
          false,
        );
      }
    }
    expect(started).toBeGreaterThan(kScripts / 3);
  },
  60_000,
);
