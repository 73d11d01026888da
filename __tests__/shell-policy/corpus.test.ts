import { describe, expect, it } from "vitest";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import { kBlockList } from "./corpus/block-list.js";
import { kBypasses } from "./corpus/bypasses.js";
import { type CorpusCase, kAllowlist, type Verdict } from "./corpus/case.js";
import { kCorpus } from "./corpus/index.js";
import { kOrdinary } from "./corpus/ordinary.js";

function verdict(command: string, shellAllowlistMode: "off" | "strict"): Verdict {
  const { allowed, blocked, warnings } = checkShellCommand(command, {
    shellAllowlist: kAllowlist,
    shellAllowlistMode,
  });
  expect(warnings).toEqual([]);
  expect(allowed).toBe(blocked === undefined);
  return blocked?.rule ?? "allow";
}

function shown(command: string): string {
  return JSON.stringify(command.length > 80 ? `${command.slice(0, 80)}…` : command);
}

describe.each<[string, readonly CorpusCase[]]>([
  ["ordinary commands", kOrdinary],
  ["the block list", kBlockList],
  ["bypasses", kBypasses],
])("%s", (_, cases) => {
  it.each(cases.map((each) => [shown(each[0]), ...each] as const))(
    "%s",
    (_name, command, off, strict) => {
      expect(verdict(command, "off")).toBe(off);
      expect(verdict(command, "strict")).toBe(strict ?? off);
    },
  );
});

describe("the corpus", () => {
  it("holds each command once, and enough of them", () => {
    const commands = kCorpus.map(([command]) => command);
    expect(new Set(commands).size).toBe(commands.length);
    expect(commands.length).toBeGreaterThanOrEqual(250);
  });

  it("lets no bypass through in strict mode", () => {
    const passed = kBypasses.filter(([, off, strict = off]) => strict === "allow");
    expect(passed).toEqual([]);
  });

  it("warns in warn mode of what strict mode refuses, and lets it pass", () => {
    for (const [command, off, strict = off] of kCorpus) {
      const policy = { shellAllowlist: kAllowlist, shellAllowlistMode: "warn" } as const;
      const { allowed, warnings } = checkShellCommand(command, policy);
      expect(allowed, command).toBe(off === "allow");
      if (off === "allow")
        expect(
          warnings.map(({ rule }) => rule),
          command,
        ).toEqual(strict === "allow" ? [] : expect.arrayContaining([strict]));
    }
  });

  it("says where and why", () => {
    for (const [command] of kCorpus) {
      const { blocked } = checkShellCommand(command);
      if (blocked === undefined) continue;
      expect(blocked.reason, command).toMatch(/^[A-Z].*\.$/s);
      if (blocked.position !== undefined)
        expect(blocked.position).toBeLessThanOrEqual(command.length);
    }
  });
});
