/** `native-runner mcp` of a package whose optional peers are not there, as npx installs it. */

import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";

import { command, whyNoCli } from "../support/built-cli.js";
import { kNodeInside } from "../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kRoot = fileURLToPath(new URL("../../..", import.meta.url));

/** Installs what npx would: the package's files, and its dependencies but no peer. Returns its main.js. */
function installed(): string {
  const modules = join(tempDirectory(), "node_modules");
  const home = join(modules, "@openagentic/native-runner");
  mkdirSync(home, { recursive: true });
  for (const name of ["dist", "types", "package.json"]) {
    cpSync(join(kRoot, name), join(home, name), { recursive: true });
  }
  symlinkSync(join(kRoot, "build"), join(home, "build"));
  const { dependencies } = JSON.parse(readFileSync(join(kRoot, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(kRoot, "node_modules", name), join(modules, name));
  }
  return join(home, "dist/cli/main.js");
}

describeUnless(whyNoCli ?? whyNoBubblewrap, "mcp with nothing else installed", () => {
  const main = installed();

  test("has no SDK beside it (control)", () => {
    const line =
      'import("@modelcontextprotocol/server").then(() => console.log("there"), () => console.log("missing"))';
    const path = join(dirname(main), "look.mjs");
    expect(command([...kNodeInside, "-e", `process.chdir("/"); ${line}`]).stdout).toBe("missing\n");
    expect(path).not.toContain(kRoot);
  });

  test.each(["auto", "legacy"] as const)("serves the official client, %s", async (mode) => {
    const [program = "", ...args] = [...kNodeInside, main, "mcp", "--workspace", tempDirectory()];
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const place = ["--state-directory", tempDirectory("state")];
    await client.connect(new StdioClientTransport({ command: program, args: [...args, ...place] }));
    try {
      const { content } = await client.callTool({
        name: "run",
        arguments: { command: "echo hello" },
      });
      expect(content).toMatchObject([{ type: "text", text: expect.stringContaining("hello") }]);
    } finally {
      await client.close();
    }
  });
});
