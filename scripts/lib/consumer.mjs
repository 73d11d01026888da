// A small host application that uses the package as its users do; scripts/checks/pack.mjs installs
// the package into it in several ways and runs the same checks each time.
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { nodeProgram, packageJson } from "./project.mjs";
import { run } from "./run.mjs";

const { name, devDependencies } = packageJson();

/** What such an application installs beside the package. */
export const consumerDevDependencies = { "@types/node": devDependencies["@types/node"] };

const exported = ["BubblewrapNativeRunner", "LocalNativeRunner", "buildBubblewrapArgv"];

const files = {
  "esm.mjs": `import assert from "node:assert/strict";
import * as library from "${name}";
for (const name of ${JSON.stringify(exported)}) assert.equal(typeof library[name], "function", name);
`,

  // None of the SDKs that they are for is installed, but in the check of a checkout.
  "adapters.mjs": `import assert from "node:assert/strict";
import { BubblewrapNativeRunner } from "${name}";
import * as aiSdk from "${name}/ai-sdk";
import * as mcp from "${name}/mcp";
import * as openai from "${name}/openai-agents";
const runner = new BubblewrapNativeRunner({ shadowDir: process.cwd() });
assert.equal(Object.keys(aiSdk.createSandboxTools({ runner }).tools).length, 16);
assert.equal(typeof openai.createSandboxShell(runner).run, "function");
const sandbox = await mcp.createSandboxTools({ runner }).catch(({ code, fix }) => {
  assert.equal(code, "ERR_SANDBOX_UNAVAILABLE");
  assert.match(fix, /^npm install @modelcontextprotocol.server/);
});
await sandbox?.close();
`,

  "commonjs.cjs": `const assert = require("node:assert/strict");
const library = require("${name}");
for (const name of ${JSON.stringify(exported)}) assert.equal(typeof library[name], "function", name);
`,

  "run.mjs": `import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { BubblewrapNativeRunner, LocalNativeRunner } from "${name}";
import { serveReview } from "${name}/review";

/** The page and what it loads are in the package. */
async function review(runner) {
  const directory = mkdtempSync(path.join(os.tmpdir(), "consumer-state-"));
  const transaction = await runner.openTransaction({ directory });
  const page = await serveReview({ transaction, runner });
  for (const file of ["", "app.js", "app.css", "licenses.txt", "api/changes"]) {
    assert.equal((await fetch(page.url + file)).status, 200, file);
  }
  await page.close();
  await transaction.discard();
  await runner.close();
  rmSync(directory, { recursive: true, force: true });
}

const shadowDir = mkdtempSync(path.join(os.tmpdir(), "consumer-"));
try {
  const Runner = process.argv[2] === "bubblewrap" ? BubblewrapNativeRunner : LocalNativeRunner;
  const runner = new Runner({ shadowDir });
  const result = await runner.exec({ argv: ["sh", "-c", "echo hello > file; cat file"] });
  assert.equal(new TextDecoder().decode(result.stdout), "hello\\n", new TextDecoder().decode(result.stderr));
  assert.equal(result.exitCode, 0);
  assert.equal(result.outcome.kind, "exited");
  assert.equal(readFileSync(path.join(shadowDir, "file"), "utf8"), "hello\\n");
  if (process.argv[2] === "bubblewrap") await review(runner);
} finally {
  rmSync(shadowDir, { recursive: true, force: true });
}
`,

  "host.ts": `import {
  BubblewrapNativeRunner,
  buildBubblewrapArgv,
  type NativeExecInput,
  type NativeExecResult,
  type NativeLimits,
  type NativeRunner,
} from "${name}";

/** A consumer's own runner that returns only the old fields. */
class OwnRunner implements NativeRunner {
  async exec(_input: NativeExecInput): Promise<NativeExecResult> {
    const nothing = new Uint8Array();
    return { exitCode: 0, stdout: nothing, stderr: nothing, truncatedStdout: false, truncatedStderr: false };
  }
}

class NamedRunner extends BubblewrapNativeRunner {
  readonly label = "named";
}

export const runners: NativeRunner[] = [new OwnRunner(), new NamedRunner({ shadowDir: "/tmp" })];
export const limits: NativeLimits = { timeoutMs: 1000, keep: "head+tail" };
export const first: string = buildBubblewrapArgv({
  bwrapPath: "bwrap",
  shadowDir: "/tmp",
  commandArgv: ["true"],
  network: "deny",
}).cmd;
export async function outcomeOf(runner: NamedRunner): Promise<string> {
  return (await runner.exec({ argv: ["true"], limits })).outcome.kind;
}
`,
};

const moduleSettings = {
  nodenext: { module: "nodenext", moduleResolution: "nodenext" },
  node16: { module: "node16", moduleResolution: "node16" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};

/** Writes the application's files; its package.json is the caller's. */
export function writeConsumer(directory) {
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(directory, file), text);
  writeFileSync(path.join(directory, "host.mts"), files["host.ts"]);
  for (const [label, settings] of Object.entries(moduleSettings)) {
    const compilerOptions = {
      ...settings,
      target: "es2022",
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
      types: ["node"],
    };
    // The application is CommonJS, from which Node 16 knew no way to import a module but this name.
    const host = label === "node16" ? "host.mts" : "host.ts";
    const config = { compilerOptions, files: [host] };
    writeFileSync(path.join(directory, `tsconfig.${label}.json`), JSON.stringify(config));
  }
}

/** Import, require, type-check and a real command, from an application that has the package. */
export function checkConsumer(directory, { bubblewrapWorks }) {
  const node = (...args) => run(process.execPath, args, { cwd: directory });
  node("esm.mjs");
  node("adapters.mjs");
  node("commonjs.cjs");
  node("run.mjs", "local");
  if (bubblewrapWorks) node("run.mjs", "bubblewrap");
  for (const label of Object.keys(moduleSettings)) {
    node(nodeProgram("typescript", "tsc"), "-p", `tsconfig.${label}.json`);
  }
}
