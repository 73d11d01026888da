// As root too: root is refused other things.
/** What succeeds or fails by itself is called no denial: as root, and as an ordinary user. */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const commands = readFileSync(
  fileURLToPath(new URL("ordinary-commands.txt", import.meta.url)),
  "utf8",
)
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));

describeSandboxed("ordinary commands are not denied", () => {
  let runner: BubblewrapNativeRunner;
  beforeAll(() => {
    const shadowDir = tempDirectory("ordinary");
    runner = new BubblewrapNativeRunner({ shadowDir });
    return () => runner.close();
  });

  test("there are two hundred of them", () => {
    expect(new Set(commands).size).toBeGreaterThanOrEqual(200);
  });

  describe.each([true, "lookups"] as const)("with explain: %j", (explain) => {
    test.each(commands)("%s", async (command) => {
      const { outcome, denials } = await runner.exec({
        argv: ["bash", "-c", command],
        env: { TMPDIR: "/tmp" }, // the host's may be a place that no sandbox shows
        explain,
      });
      expect(["exited", "not-found"]).toContain(outcome.kind);
      expect(denials).toEqual([]);
    });
  });

  test("nor is a directory of the host's that has a program's name, on PATH before it", async () => {
    const before = tempDirectory("path"); // which no sandbox shows
    for (const name of ["env", "not-a-program"]) mkdirSync(join(before, name));
    const { PATH = "" } = process.env;
    const reported = await Promise.all(
      ["env", `stat ${join(before, "not-a-program")}`].map((command) =>
        runner.exec({
          argv: ["bash", "-c", `${command}; true`],
          env: { PATH: `${before}:${PATH}`, TMPDIR: "/tmp" },
          explain: "lookups",
        }),
      ),
    );
    expect(reported.map(({ denials }) => denials.map(({ program }) => program))).toEqual([
      [],
      ["stat"], // of which there is none elsewhere
    ]);
  });

  test("but what the sandbox refuses is", async () => {
    const { denials } = await runner.exec({
      argv: ["bash", "-c", "ls; echo x > /etc/native-runner-probe; true"],
      explain: true,
    });
    expect(denials).toMatchObject(
      process.getuid?.() === 0
        ? [{ kind: "write", path: "/etc/native-runner-probe", errno: "EROFS", by: "bubblewrap" }]
        : [],
    );
  });
});
