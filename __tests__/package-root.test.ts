/** The package's folder, as its own modules, bundles and executables find it. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

import { builtFile, packageRoot, packageRootOf, unpacked } from "../lib/package-root.js";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "package-root-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

const kName = "@openagentic/native-runner";

/** Puts a package.json into a folder, which is made. */
function named(directory: string, name: string): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name }));
  return directory;
}

test("is the one above the package's own modules", () => {
  const own = named(join(folder(), "anywhere"), kName);
  expect(packageRootOf(join(own, "dist/package-root.js"))).toBe(own);
  const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
  expect(packageRoot()).toBe(root);
  expect(fileURLToPath(builtFile("review/page/"))).toBe(`${root}/dist/review/page/`);
});

test("is the package that is installed for a bundle, also above it", () => {
  const app = named(join(folder(), "app"), "app");
  const installed = join(app, "node_modules", kName);
  mkdirSync(join(app, "dist/deep/prebuilds"), { recursive: true });
  const bundle = join(app, "dist/package-root.js"); // a bundler that keeps modules keeps their names
  expect(packageRootOf(bundle)).toBe(join(app, "dist"));
  named(installed, "another");
  expect(packageRootOf(bundle)).toBe(join(app, "dist"));
  named(installed, kName);
  expect(packageRootOf(bundle)).toBe(installed);
  expect(packageRootOf(join(app, "dist/deep/app.mjs"))).toBe(installed);
});

test("is the bundle's own folder where nothing is installed", () => {
  const alone = folder();
  expect(packageRootOf(join(alone, "app.cjs"))).toBe(alone);
  mkdirSync(join(alone, "prebuilds"));
  expect(packageRootOf(join(alone, "dist", "app.cjs"))).toBe(join(alone, "dist"));
  expect(packageRootOf(join(alone, "app.cjs"))).toBe(alone);
});

test("is outside of Electron's archives", () => {
  const path = "/opt/app/resources/app.asar/node_modules/@openagentic/native-runner";
  expect(unpacked(path, "40.0.0")).toBe(path.replace(".asar", ".asar.unpacked"));
  expect(unpacked(path, undefined)).toBe(path);
  expect(unpacked("/srv/x.asar", "40.0.0")).toBe("/srv/x.asar");
});
