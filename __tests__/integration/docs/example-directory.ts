/** The fresh directory in which an example is run, as an application that has the package installed. */

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

import { kRoot } from "../../support/run-tsc.js";
import { kNodeInside } from "../support/node-arguments.js";
import { plainEnvironment } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kFiles } from "./example-files.js";

/** Where a package manager puts programs of packages, for PATH and npx. */
const kPrograms = "node_modules/.bin";
const kInstalled = ["@types", "undici-types", "@opentelemetry", "@modelcontextprotocol"];

export type Place = {
  directory: string;
  env: NodeJS.ProcessEnv;
  /** Puts the real directory in the place of one that the page names, such as /srv/project. */
  real(text: string): string;
  /** The other way round. */
  named(text: string): string;
  /** `NAME`, in the example's own directory, or `NAME at /DIRECTORY`, which is made elsewhere. */
  addFiles(what: string): void;
};

/** As if it were installed: a link to the checkout, whose build is as it is, and the program. */
function linkCheckout(directory: string): void {
  const modules = join(directory, "node_modules");
  mkdirSync(join(modules, "@openagentic"), { recursive: true });
  symlinkSync(kRoot, join(modules, "@openagentic/native-runner"));
  for (const name of kInstalled)
    symlinkSync(join(kRoot, "node_modules", name), join(modules, name));
  writeFileSync(join(directory, "package.json"), '{ "private": true, "type": "module" }\n');
  const bin = join(directory, kPrograms);
  const program = join(bin, "native-runner");
  const words = [...kNodeInside, join(kRoot, "dist/cli/main.js")].map((word) => `'${word}'`);
  mkdirSync(bin);
  writeFileSync(program, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`);
  chmodSync(program, 0o755);
}

/** This process's environment, but for what selects a sandbox. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(plainEnvironment()).filter(
    ([name]) =>
      !/^(OPENAGENTIC|ZEPTOCLAW)_/.test(name) || name === "OPENAGENTIC_NATIVE_RUNNER_PRESET",
  );
  return { ...Object.fromEntries(kept), NO_COLOR: "1" };
}

export function makePlace({ install = linkCheckout } = {}): Place {
  const outer = tempDirectory("docs");
  const directory = join(outer, "app");
  mkdirSync(directory);
  install(directory);
  const elsewhere = new Map<string, string>();
  const programs = [join(directory, kPrograms), dirname(process.execPath)];
  const path = [...programs, process.env.PATH].join(delimiter);
  return {
    directory,
    env: { ...environment(), PATH: path },
    real: (text) => {
      let result = text;
      for (const [name, real] of elsewhere) result = result.replaceAll(name, real);
      return result;
    },
    named: (text) => {
      let result = text;
      for (const [name, real] of elsewhere) result = result.replaceAll(real, name);
      return result;
    },
    addFiles: (what) => {
      const [, name = "", at] = /^([a-z-]+)(?: at (\/[\w/-]+))?$/.exec(what) ?? [];
      const write = kFiles[name];
      if (write === undefined) {
        throw new Error(
          `\`files\`: expected one of ${Object.keys(kFiles).join(", ")}, got ${what}`,
        );
      }
      const target = at === undefined ? directory : join(outer, at);
      if (at !== undefined) elsewhere.set(at, target);
      mkdirSync(target, { recursive: true });
      write(target);
    },
  };
}
