// The built addon exports exactly what types/addon.d.ts and its parts declare, and its classes have
// exactly the declared methods; a report has exactly the declared fields. Reads the declarations as
// text, in the form that Biome gives them.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { buildDirectory, inRoot } from "../lib/project.mjs";
import { fail } from "../lib/run.mjs";

const declarations = ["addon.d.ts", "addon-request.d.ts", "addon-transaction.d.ts"]
  .map((file) => readFileSync(inRoot("types", file), "utf8"))
  .join("\n");

/** The members of an exported interface and of those it extends. */
function membersOf(name) {
  const match = declarations.match(
    new RegExp(`^export interface ${name}(?: extends (\\w+))? \\{\\n([\\s\\S]*?)^\\}`, "m"),
  );
  if (match === null) fail(`types/addon*.d.ts declares no interface ${name}`);
  const [, parent, body] = match;
  const own = [...body.matchAll(/^ {2}(\w+)[(:]/gm)].map(([, member]) => member);
  return [...(parent === undefined ? [] : membersOf(parent)), ...own];
}

/** The classes among the module's members: [class, the interface its instances have]. */
const classes = [...declarations.matchAll(/^ {2}(\w+): new \(.*\) => (\w+);/gm)];

const addon = createRequire(import.meta.url)(
  path.join(buildDirectory("release"), "native_runner.node"),
);

let failures = 0;
function compare(what, declared, actual) {
  const missing = declared.filter((name) => !actual.includes(name));
  const extra = actual.filter((name) => !declared.includes(name));
  for (const name of missing) console.error(`${what}: ${name} is declared, but not there`);
  for (const name of extra) console.error(`${what}: ${name} is there, but not declared`);
  failures += missing.length + extra.length;
}

compare("the addon", membersOf("NativeAddon"), Object.keys(addon));
compare("a report", membersOf("NativeReport"), addon.reportFields);
for (const [, className, handle] of classes) {
  const methods = Object.getOwnPropertyNames(addon[className]?.prototype ?? {});
  compare(
    className,
    membersOf(handle),
    methods.filter((name) => name !== "constructor"),
  );
}
if (failures > 0) fail("the addon and types/addon*.d.ts differ");
