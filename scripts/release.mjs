// npm run release -- --dry-run: makes the tarball of a release, with the binaries of all targets, and
// looks at all that can be wrong with it. What it made is in build/release-of-<version>/: the tarball,
// its bill of materials and its provenance. Without --dry-run it is a release that could be published:
// the tree must be committed and the changelog have its part. Publishing is left to `npm publish`.
//   --targets NAME,NAME  these alone
//   --once               without the second build that shows whether the first can be repeated
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { npmPack } from "./lib/npm/pack.mjs";
import { inRoot, packageJson } from "./lib/project.mjs";
import { fail, outputOf, run, runQuietly } from "./lib/run.mjs";
import { targets } from "./lib/targets.mjs";
import { billOfMaterials, unlicensed } from "./release/bill.mjs";
import { complaintsOf } from "./release/binaries.mjs";
import { statementOf } from "./release/provenance.mjs";
import { differing, secondPlace, stageIn } from "./release/second-build.mjs";
import { versionComplaints } from "./release/version.mjs";

const kFiles = ["native_runner.node", "launcher"];

const { values: options } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    once: { type: "boolean", default: false },
    targets: { type: "string" },
  },
});
const names = options.targets?.split(",") ?? targets.map(({ name }) => name);
const chosen = names.map(
  (name) => targets.find((target) => target.name === name) ?? fail(`--targets: no target ${name}`),
);

const { version } = packageJson();
const directory = inRoot("build", `release-of-${version}`);
const rows = [];
let failed = 0;

/** One line of the table: what was looked at, and what is wrong with it. `isFatal`: also in a dry run. */
function note(what, complaints, { isFatal = true, good = "ok" } = {}) {
  const isWrong = complaints.length > 0;
  if (isWrong && (isFatal || !options["dry-run"])) failed += 1;
  rows.push([what, isWrong ? complaints.join("\n") : good]);
  console.log(`${what}: ${isWrong ? complaints.join("; ") : good}`);
}

function checkTree() {
  const read = (name) => readFileSync(inRoot(name), "utf8");
  const texts = {
    version,
    lock: JSON.parse(read("package-lock.json")),
    changelog: read("CHANGELOG.md"),
  };
  note("version and changelog", versionComplaints(texts), { isFatal: false, good: version });
  const changed = runQuietly("git", ["status", "--porcelain"]).trim();
  const uncommitted = changed === "" ? [] : [`not committed: ${changed.split("\n").length} files`];
  note("the tree", uncommitted, { isFatal: false });
}

function pack() {
  run(inRoot("scripts", "bootstrap"), [
    "--no-build",
    ...(names.includes("linux-arm64") ? ["--arch", "arm64"] : []),
  ]);
  const env = { ...process.env, NATIVE_RUNNER_PREBUILDS: names.join(",") };
  run(process.execPath, ["scripts/pack.mjs"], { env }); // built here, so that packing alone is timed
  const started = performance.now();
  const entry = npmPack(directory, { env });
  const seconds = (performance.now() - started) / 1000;
  const missing = names
    .flatMap((name) => kFiles.map((file) => `prebuilds/${name}/${file}`))
    .filter((file) => !entry.files.some((each) => each.path === file));
  note(
    "the tarball",
    missing.map((file) => `it lacks ${file}`),
    {
      good: `${entry.filename}, ${Math.ceil(entry.size / 1024)} KiB, packed in ${seconds.toFixed(1)} s`,
    },
  );
  return path.join(directory, entry.filename);
}

/** The binaries, unpacked from the tarball, so that what is looked at is what users get. */
function unpack(tarball) {
  const unpacked = path.join(directory, "unpacked");
  mkdirSync(unpacked, { recursive: true });
  run("tar", ["-xzf", tarball, "-C", unpacked, "--strip-components=1"]);
  return (target) => path.join(unpacked, "prebuilds", target.name);
}

function checkBinaries(directoryOf, commit) {
  for (const target of chosen)
    note(`${target.name}: binaries`, complaintsOf(target, directoryOf(target)));
  if (options.once) return;
  const place = secondPlace(commit);
  for (const target of chosen) {
    const other = differing(directoryOf(target), stageIn(place, target), kFiles);
    note(
      `${target.name}: built twice`,
      other.map((name) => `${name} is not the same`),
      { good: "the same" },
    );
  }
}

function write(name, value) {
  writeFileSync(path.join(directory, name), `${JSON.stringify(value, null, 2)}\n`);
}

rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const commit =
  outputOf("git", ["rev-parse", "HEAD"])?.trim() ?? fail("a release is of a git commit");
checkTree();
const tarball = pack();
const directoryOf = unpack(tarball);
checkBinaries(directoryOf, commit);
const bill = billOfMaterials();
note("licences", unlicensed(bill.components), {
  good: `${bill.components.length} components, all permissive`,
});
write("bill-of-materials.cdx.json", bill);
const binaries = chosen.flatMap((target) =>
  kFiles.map((name) => [`prebuilds/${target.name}/${name}`, path.join(directoryOf(target), name)]),
);
write("provenance.intoto.json", statementOf(tarball, Object.fromEntries(binaries), commit));
rmSync(path.join(directory, "unpacked"), { recursive: true });
const table = new Table({ head: ["looked at", "found"], style: { head: [], border: [] } });
table.push(...rows);
console.log(
  `\n${table}\n${path.relative(inRoot(), directory)}/ has the tarball, its bill of materials and its provenance.`,
);
if (failed > 0) fail(`release: ${failed} complaints`);
console.log(
  options["dry-run"]
    ? "release: a dry run, nothing is published"
    : "release: ready for `npm publish`",
);
