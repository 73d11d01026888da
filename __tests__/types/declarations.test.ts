/** The declarations as an application finds them in its node_modules, under its compiler settings. */

import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { kRoot, tsc } from "../support/run-tsc.js";

let host: string;

beforeAll(async () => {
  host = await mkdtemp(join(tmpdir(), "native-runner-types-"));
  const installed = join(host, "node_modules/@openagentic/native-runner");
  await mkdir(installed, { recursive: true });
  await cp(join(kRoot, "package.json"), join(installed, "package.json"));
  await cp(join(kRoot, "types"), join(installed, "types"), { recursive: true });
  await symlink(join(kRoot, "node_modules/@types"), join(host, "node_modules/@types"));
  await symlink(join(kRoot, "node_modules/undici-types"), join(host, "node_modules/undici-types"));
  const dist = join(installed, "dist");
  expect(await tsc("-p", "tsconfig.build.json", "--outDir", dist)).toBe("");
  for (const name of ["ai", "@openai", "@modelcontextprotocol"]) {
    await symlink(join(kRoot, "node_modules", name), join(host, "node_modules", name));
  }
  await cp(join(import.meta.dirname, "adapters.ts"), join(host, "adapters.ts"));
  await cp(join(import.meta.dirname, "consumer.ts"), join(host, "consumer.ts"));
  await cp(join(import.meta.dirname, "consumer.ts"), join(host, "consumer.cts"));
  await cp(join(import.meta.dirname, "denials.ts"), join(host, "denials.ts"));
  await cp(join(import.meta.dirname, "remote.ts"), join(host, "remote.ts"));
  await writeFile(join(host, "package.json"), '{ "type": "module" }');
});

afterAll(() => rm(host, { recursive: true, force: true }));

async function compile(compilerOptions: object, ...files: string[]): Promise<string> {
  const shared = { noEmit: true, target: "ES2022", types: ["node"], skipLibCheck: false };
  const config = { compilerOptions: { ...shared, ...compilerOptions }, files };
  const path = join(host, "tsconfig.json");
  await writeFile(path, JSON.stringify(config));
  return tsc("-p", path);
}

const kNodeNext = { module: "NodeNext", moduleResolution: "NodeNext" };
const kNode16 = { module: "Node16", moduleResolution: "Node16" };
const kBundler = { module: "ESNext", moduleResolution: "Bundler" };

describe.each([
  ["NodeNext", kNodeNext],
  ["Node16", kNode16],
  ["Bundler", kBundler],
])("moduleResolution %s", (_name, resolution) => {
  it.each([
    ["strict", { strict: true }],
    ["strict and exactOptionalPropertyTypes", { strict: true, exactOptionalPropertyTypes: true }],
  ])("compiles, %s", async (_strictness, strictness) => {
    expect(
      await compile({ ...resolution, ...strictness }, "consumer.ts", "denials.ts", "remote.ts"),
    ).toBe("");
  });

  it("refuses a wrong program (control)", async () => {
    const wrong = 'import { Missing } from "@openagentic/native-runner";\nMissing();\n';
    await writeFile(join(host, "wrong.ts"), wrong);
    expect(await compile({ ...resolution, strict: true }, "wrong.ts")).toContain("Missing");
  });
});

it.each([
  ["NodeNext", kNodeNext],
  ["Bundler", kBundler],
])("compiles the adapters with their SDKs, %s", async (_name, resolution) => {
  // The SDKs' own declarations are not ours to check.
  const options = { ...resolution, strict: true, exactOptionalPropertyTypes: true };
  expect(await compile({ ...options, skipLibCheck: true }, "adapters.ts")).toBe("");
});

it.each([
  ['{ argv: "ls" }', /^[^\n]*TS2322: Type 'string' is not assignable to type 'string\[\]'/],
  ['{ cmd: ["ls"] }', /^[^\n]*TS2353: .*'cmd' does not exist in type 'RunnerExecInput'/],
  ["{}", /^[^\n]*TS2345: .*Property 'argv' is missing|TS2741/s],
])("says of exec(%s) what is wrong, and nothing of overloads", async (input, expected) => {
  const line = `import { LocalNativeRunner } from "@openagentic/native-runner";
void new LocalNativeRunner({ shadowDir: "/" }).exec(${input});\n`;
  await writeFile(join(host, "misused.ts"), line);
  const said = await compile({ ...kNodeNext, strict: true }, "misused.ts");
  expect(said).toMatch(expected);
  expect(said).not.toMatch(/overload|never/);
});

it("compiles from CommonJS, which requires the ES module", async () => {
  expect(await compile({ ...kNodeNext, strict: true }, "consumer.cts")).toBe("");
});
