// The bill of materials of a release, in CycloneDX: npm's own list of what an install brings, and what
// the binaries are linked with. And whether each licence is one that users can live with.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { inRoot, packageJson } from "../lib/project.mjs";
import { runQuietly } from "../lib/run.mjs";
import { tempDirectory } from "../lib/temp.mjs";

const kPermissive = new Set([
  ...["0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"],
  ...["ISC", "MIT", "Python-2.0", "Unlicense"],
  // The runtime library of GCC, in binaries that are compiled by it.
  "GPL-3.0-or-later WITH GCC-exception-3.1",
]);

const licencesOf = ({ licenses = [] }) =>
  licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name);

/** Components without a licence that is known to be permissive. Pure. */
export const unlicensed = (components) =>
  components
    .filter((component) => {
      const all = licencesOf(component);
      return all.length === 0 || !all.every((each) => kPermissive.has(each));
    })
    .map((each) => `${each.name} ${each.version}: ${licencesOf(each).join(", ") || "no licence"}`);

const expression = (text) => [{ expression: text }];

/** What is in the binaries that npm knows nothing of. */
function linked() {
  const readme = readFileSync(inRoot("third_party", "README.md"), "utf8");
  const versionOf = (name) => new RegExp(`^## ${name} (\\S+)$`, "m").exec(readme)?.[1];
  const gcc = runQuietly("g++", ["-dumpfullversion"]).trim();
  const header = readFileSync(inRoot("node_modules/node-addon-api/package.json"), "utf8");
  const { version, license } = JSON.parse(header);
  const gnu = expression("GPL-3.0-or-later WITH GCC-exception-3.1");
  return [
    ...["libuv", "llhttp"].map((each) => ({
      type: "library",
      name: each,
      version: versionOf(each),
      licenses: expression("MIT"),
    })),
    { type: "library", name: "libstdc++", version: gcc, licenses: gnu },
    { type: "library", name: "node-addon-api", version, licenses: expression(license) },
  ];
}

/** The bill of what users install: neither what it is developed with, nor optional peers. */
export function billOfMaterials() {
  const { name, version, license, dependencies } = packageJson();
  const directory = path.join(tempDirectory("bill"), path.basename(name));
  mkdirSync(directory, { recursive: true });
  const manifest = { name, version, license, dependencies };
  writeFileSync(path.join(directory, "package.json"), JSON.stringify(manifest));
  const options = { cwd: directory };
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  runQuietly("npm", ["install", "--package-lock-only", "--omit=peer", ...quiet], options);
  const format = ["--sbom-format", "cyclonedx", "--sbom-type", "library"];
  const bill = JSON.parse(runQuietly("npm", ["sbom", "--package-lock-only", ...format], options));
  bill.components.push(...linked());
  return bill;
}
