/** The command line is the policy. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { connect, textOf } from "./support/client.js";

// bash's own connection, so that no other program is needed; bounded, since a resolver may take long
const kReach = "timeout 3 bash -c 'exec 3<>/dev/tcp/b.invalid/443; cat <&3'";

describeUnless(whyNoBubblewrap ?? whyNoCli, "the policy of native-runner mcp", () => {
  for (const generation of ["first", "legacy"] as const) {
    test(`${generation}: a person is asked about a host that no rule names, while the command waits`, async () => {
      for (const answer of ["no", "yes"] as const) {
        const asked: string[] = [];
        const { call } = await connect(generation, {
          words: ["--allow-host", "a.invalid"],
          person: (message) => {
            asked.push(message);
            return answer;
          },
        });
        const { structuredContent } = await call("run", { command: kReach });
        expect(asked).toEqual([expect.stringContaining("b.invalid on port 443")]);
        const { denials } = structuredContent as { denials: { what: string }[] };
        expect(denials.map(({ what }) => what).some((what) => what.includes("b.invalid"))).toBe(
          answer === "no",
        );
        await call("run", { command: kReach });
        expect(asked).toHaveLength(1); // the answer holds
      }
    });
  }

  for (const generation of ["legacy", "modern"] as const) {
    test(`${generation}: where nobody can be asked meanwhile, it is refused, and a grant is named`, async () => {
      const asked: string[] = [];
      const person = (message: string) => {
        asked.push(message);
        return "yes" as const;
      };
      const { call } = await connect(generation, {
        words: ["--allow-host", "a.invalid"],
        ...(generation === "modern" && { person }),
      });
      const { structuredContent } = await call("run", { command: kReach });
      const { denials } = structuredContent as { denials: { what: string; option?: string }[] };
      const options = denials.map(({ option }) => option);
      expect(options).toContain("--allow-host b.invalid");
      if (generation === "legacy") return;
      const { grant } = (denials as { option?: string; grant?: string }[]).find(
        ({ option }) => option === "--allow-host b.invalid",
      ) ?? { grant: "" };
      const granted = await call("run", { command: kReach, grants: [grant] });
      expect(asked).toEqual([expect.stringContaining("--allow-host b.invalid")]);
      expect(granted.structuredContent).toMatchObject({ denials: [] });
    });
  }

  test("nobody is asked beyond the bound that the operator has set by a variable", async () => {
    const asked: string[] = [];
    const { call } = await connect("legacy", {
      env: { OPENAGENTIC_SANDBOX_ALLOW_HOSTS: "a.invalid" },
      person: (message) => {
        asked.push(message);
        return "yes";
      },
    });
    const { structuredContent } = await call("run", { command: kReach });
    expect(structuredContent).not.toMatchObject({ denials: [] });
    expect(asked).toEqual([]);
  });

  test("options of run hold for every command", async () => {
    const outside = tempDirectory("outside", "/var/tmp");
    writeFileSync(join(outside, "file"), "contents\n");
    const { call } = await connect("legacy", {
      words: ["--mount", `${outside}:/data:ro`, "--env", "GREETING=hello", "--cwd", "."],
    });
    const { structuredContent } = await call("run", {
      command: "cat /data/file; echo $GREETING $OTHER; echo x > /data/new || echo refused",
      env: { OTHER: "there" },
    });
    expect(structuredContent).toMatchObject({ stdout: "contents\nhello there\nrefused\n" });
  });

  test("the shell lists of a configuration hold", async () => {
    const config = join(tempDirectory("config"), "config.json");
    writeFileSync(
      config,
      JSON.stringify({
        runtimeType: "bubblewrap",
        security: { shellBlocklist: ["rm"] },
      }),
    );
    const { call } = await connect("legacy", { words: ["--config", config] });
    expect(textOf(await call("run", { command: "echo on" }))).toBe("on\n");
    for (const input of [{ command: "true && rm -r ." }, { argv: ["rm", "-r", "."] }]) {
      const refused = await call("run", input);
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain("ERR_COMMAND_BLOCKED");
    }
  });

  const wrong: [name: string, words: string[], why: RegExp, status: number][] = [
    ["a runtime without transactions", ["--runtime", "landlock"], /Bubblewrap/, 2],
    ["a workspace that is missing", ["-w", "/nonexistent"], /no directory/, 125],
    ["the root directory", ["-w", "/"], /root directory/, 2],
    ["too much output", ["--max-output", "17M"], /at most 16M/, 2],
    ["a token for nobody", ["--token-file", "x"], /without --http/, 2],
    ["a port that is none", ["--http", "70000"], /no port/, 2],
    ["a command", ["--", "true"], /too many arguments/i, 2],
    ["a transaction that there is not", ["--resume", "000000000000"], /no transaction/, 120],
  ];
  test.each(wrong)("refuses %s", (_, words, why, code) => {
    const { stdout, stderr, status } = command([
      ...[...kCli, "mcp", "--state-directory", tempDirectory("state")],
      ...words,
    ]);
    expect(stdout).toBe("");
    expect(stderr).toMatch(why);
    expect(status).toBe(code);
  });
});
