/**
 * Hosts that are not Node: the package says so, and the host lives on. The engines come from npm, into
 * a folder below build/ that is kept; where they can't be had the tests say why. They need a built
 * dist/.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { describeUnless, plainEnvironment } from "../support/gate.js";
import { kNodeInside } from "../support/node.js";
import { tempDirectory } from "../support/temp.js";

const kHosts = fileURLToPath(new URL("../hosts", import.meta.url));
const kInstalled = fileURLToPath(new URL("../../../build/other-hosts", import.meta.url));

type Settled = {
  value?: unknown;
  isSandboxError?: boolean;
  code?: string;
  message?: string;
  fix?: string;
};
type Report = Record<string, Settled>;

/** Programs of the packages in hosts/other, by engine. */
const kPrograms = {
  Bun: ["@oven/bun-linux-x64/bin/bun", "@oven/bun-linux-aarch64/bin/bun"],
  Deno: ["@deno/linux-x64-glibc/deno"],
} as const;

function find(engine: keyof typeof kPrograms): string | undefined {
  const paths = kPrograms[engine].map((path) => join(kInstalled, "node_modules", path));
  return paths.find((path) => existsSync(path));
}

/** Why there are no engines here; undefined when there are. */
function install(): string | undefined {
  if (find("Bun") !== undefined && find("Deno") !== undefined) return undefined;
  mkdirSync(kInstalled, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) {
    cpSync(join(kHosts, "other", name), join(kInstalled, name));
  }
  const words = ["ci", "--prefix", kInstalled, "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status, error, stderr } = spawnSync("npm", words, {
    encoding: "utf8",
    env: plainEnvironment(),
    timeout: 240_000,
  });
  if (status === 0) return undefined;
  return `the engines can't be installed: ${error?.message ?? stderr.trim().split("\n")[0]}`;
}

function host(words: readonly string[]) {
  const [program = "", ...args] = [...words, join(kHosts, "other-host.mjs"), tempDirectory()];
  const env = { ...plainEnvironment(), NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
  const { status, signal, stdout, stderr } = spawnSync(program, args, {
    encoding: "utf8",
    env,
    timeout: 25_000,
  });
  return { end: { status, signal }, stdout, stderr };
}

const whyNot = install();

test("under Node the same host program runs commands", () => {
  const { end, stdout, stderr } = host(kNodeInside);
  expect(end, stderr).toEqual({ status: 0, signal: null });
  const report = JSON.parse(stdout) as Report;
  expect(report.local).toEqual({ value: "exited" });
  expect(report.argv).toEqual({ value: "bwrap" });
});

for (const [engine, words] of [
  ["Bun", []],
  ["Deno", ["run", "--allow-all", "--no-lock"]],
] as const) {
  const program = find(engine);
  const why = program === undefined ? (whyNot ?? `no ${engine} for this machine`) : undefined;
  describeUnless(why, engine, () => {
    test("is told that it is not Node, by an error that it can catch", () => {
      const { end, stdout, stderr } = host([program ?? "", ...words]);
      expect(end, stderr).toEqual({ status: 0, signal: null });
      const { shellPolicy, configuration, ...native } = JSON.parse(stdout) as Report;
      expect({ shellPolicy, configuration }).toEqual({
        shellPolicy: { value: true },
        configuration: { value: "allow" },
      });
      expect(Object.keys(native)).toContain("bubblewrap");
      for (const [use, settled] of Object.entries(native)) {
        expect(settled, use).toMatchObject({
          isSandboxError: true,
          code: "ERR_SANDBOX_UNAVAILABLE",
          message: expect.stringMatching(`needs Node.js, this is ${engine} \\d`),
        });
      }
      expect(native.bubblewrap?.fix).toContain("Node.js");
    });
  });
}
