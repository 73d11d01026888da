/** Applications that esbuild has made one file of: the package's code is in it, its binaries are not. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";

import { kNodeProgram } from "./support/node-arguments.js";
import { describeSandboxed } from "./support/requirements.js";
import { tempDirectory } from "./support/temp.js";

const kRoot = fileURLToPath(new URL("../..", import.meta.url));
const kPackage = "@openagentic/native-runner";
const kRun = `
const runner = new BubblewrapNativeRunner({ shadowDir: process.argv[2] });
runner.exec({ argv: ["echo", "hello"] }).then(
  async ({ stdoutText }) => { process.stdout.write(stdoutText); await runner.close(); },
  ({ code, message, fix }) => console.log(code, message, fix),
);`;
const kFormats = {
  esm: { source: `import { BubblewrapNativeRunner } from "${kPackage}";${kRun}`, ending: "mjs" },
  cjs: {
    source: `const { BubblewrapNativeRunner } = require("${kPackage}");${kRun}`,
    ending: "cjs",
  },
};

/** Bundles an application in a folder in which the package is installed; returns the bundle. */
async function bundled(format: keyof typeof kFormats): Promise<string> {
  const app = tempDirectory("app");
  mkdirSync(join(app, "node_modules/@openagentic"), { recursive: true });
  symlinkSync(kRoot, join(app, "node_modules", kPackage));
  const { source, ending } = kFormats[format];
  writeFileSync(join(app, `app.${ending}`), source);
  const outfile = join(app, `out/app.${ending}`);
  await build({
    entryPoints: [join(app, `app.${ending}`)],
    ...{ bundle: true, platform: "node", format, outfile },
    logLevel: "silent", // of import.meta, which is empty in CommonJS
  });
  return outfile;
}

function ran(bundle: string): string {
  const { stdout, stderr } = spawnSync(kNodeProgram, [bundle, tempDirectory("workspace")], {
    encoding: "utf8",
  });
  return stdout + stderr;
}

describe.each(["esm", "cjs"] as const)("a bundle as %s", (format) => {
  describeSandboxed("has binaries", () => {
    test("of the package that is installed for it", async () => {
      const bundle = await bundled(format);
      expect(readFileSync(bundle, "utf8")).not.toMatch(
        /(require|from) ?\(?"@openagentic\/native-runner"/,
      );
      expect(ran(bundle)).toBe("hello\n");
    });

    test("that lie beside it", async () => {
      const alone = tempDirectory("alone");
      const bundle = join(alone, `app.${kFormats[format].ending}`);
      cpSync(await bundled(format), bundle);
      const { arch } = process;
      for (const name of ["native_runner.node", "launcher"]) {
        cpSync(join(kRoot, "build/release", name), join(alone, `prebuilds/linux-${arch}`, name));
      }
      expect(ran(bundle)).toBe("hello\n");
    });
  });

  test("without binaries says where it looked", async () => {
    const alone = tempDirectory("alone");
    const bundle = join(alone, `app.${kFormats[format].ending}`);
    cpSync(await bundled(format), bundle);
    expect(ran(bundle)).toMatch(
      /^ERR_SANDBOX_UNAVAILABLE the native binary is missing from \S*alone\S* .*prebuilds/,
    );
  });
});
