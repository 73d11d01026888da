// Installs the package as its users do and uses it: from the tarball with npm, once with what README says from top to
// bottom; with --all also from the tarball in a pnpm workspace with pnpm's defaults (install scripts blocked), and from a
// checkout that is a package of a pnpm workspace. Each time: import, require(esm), a real command, TypeScript. At last
// the demo, as a package of a pnpm workspace that has the package from the tarball.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { checkConsumer, consumerDevDependencies, writeConsumer } from "../lib/consumer.mjs";
import { checkDemo, demoDirectory } from "../lib/demo-node.mjs";
import { npmPack } from "../lib/npm/pack.mjs";
import { packageJson, root } from "../lib/project.mjs";
import { bootstrap, fail, outputOf, run, runQuietly } from "../lib/run.mjs";
import { runVitest } from "../lib/suites.mjs";
import { tempDirectory } from "../lib/temp.mjs";

bootstrap();

const { name, exports: exported } = packageJson();
const temp = tempDirectory("pack");
const pnpm = (args, cwd) => runQuietly("npx", ["--yes", "pnpm@10", ...args], { cwd });

const smallest = ["--ro-bind", "/", "/", "--unshare-all", "true"];
const bubblewrapWorks =
  spawnSync("bwrap", smallest, { stdio: "ignore", timeout: 10_000 }).status === 0;
if (!bubblewrapWorks) console.log("bwrap can't run here: only LocalNativeRunner runs a command");

function makeTarball() {
  const entry = npmPack(temp);
  checkContents(entry.files.map((file) => file.path));
  console.log(
    `${entry.filename}: ${entry.files.length} files, ${Math.ceil(entry.size / 1024)} KiB packed, ` +
      `${Math.ceil(entry.unpackedSize / 1024)} KiB unpacked`,
  );
  for (const [part, bytes] of sizesOf(entry.files)) {
    console.log(`  ${String(Math.ceil(bytes / 1024)).padStart(6)} KiB  ${part}`);
  }
  return path.join(temp, entry.filename);
}

/** Bytes by top-level folder, the prebuilt binaries each by itself. */
function sizesOf(files) {
  const sizes = new Map();
  for (const file of files) {
    const part = file.path.startsWith("prebuilds/") ? file.path : file.path.replace(/\/.*/, "/");
    sizes.set(part, (sizes.get(part) ?? 0) + file.size);
  }
  return sizes;
}

function checkContents(files) {
  const prebuilds = `prebuilds/${process.platform}-${process.arch}`;
  // What users may import, its types among it.
  const entries = Object.values(exported).flatMap((entry) =>
    typeof entry === "string" ? entry : Object.values(entry),
  );
  const entryFiles = entries.map((file) => path.posix.normalize(file));
  const wanted = [...entryFiles, "LICENSE", "README.md"];
  for (const file of [...wanted, `${prebuilds}/native_runner.node`, `${prebuilds}/launcher`]) {
    if (!files.includes(file)) fail(`the tarball lacks ${file}`);
  }
  const linked = ["examples/opentelemetry/instrument.js"]; // docs/observability.md tells users to copy it
  const strange = files.filter(
    (file) =>
      !linked.includes(file) &&
      /^(native|lib|scripts|build|bench|__tests__|examples)\/|binding\.gyp$/.test(file),
  );
  for (const file of linked) if (!files.includes(file)) fail(`the tarball lacks ${file}`);
  if (strange.length > 0) fail(`the tarball carries ${strange.join(", ")}`);
}

const writeJson = (directory, content, file = "package.json") =>
  writeFileSync(path.join(directory, file), JSON.stringify(content, null, 2));

/** An application's folder with its package.json. */
function makeApplication(directory, dependency) {
  writeConsumer(directory);
  writeJson(directory, {
    name: "host-app",
    version: "1.0.0",
    private: true,
    dependencies: { [name]: dependency },
    devDependencies: consumerDevDependencies,
  });
  return directory;
}

function makeWorkspace(label, packages) {
  const workspace = path.join(temp, label);
  mkdirSync(workspace);
  writeJson(workspace, { name: "monorepo", version: "1.0.0", private: true });
  writeFileSync(
    path.join(workspace, "pnpm-workspace.yaml"),
    `packages: ${JSON.stringify(packages)}\n`,
  );
  return workspace;
}

function fromTarballWithNpm(tarball) {
  const application = makeApplication(path.join(temp, "npm-app"), `file:${tarball}`);
  runQuietly("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: application,
  });
  checkConsumer(application, { bubblewrapWorks });
}

/** README from top to bottom in an empty directory, whose examples need bwrap. */
async function asNewcomer(tarball) {
  if (!bubblewrapWorks) {
    console.log("README is not run: bwrap can't run here");
    return;
  }
  const env = { ...process.env, NATIVE_RUNNER_TARBALL: tarball };
  const { failed } = await runVitest(["packed"], { env });
  if (failed.length > 0) fail("a newcomer fails with README");
}

function fromTarballWithPnpm(tarball) {
  const workspace = makeWorkspace("pnpm-tarball", ["packages/*"]);
  const application = makeApplication(path.join(workspace, "packages", "app"), `file:${tarball}`);
  pnpm(["install", "--no-frozen-lockfile"], workspace);
  checkConsumer(application, { bubblewrapWorks });
}

function fromCheckoutWithPnpm() {
  const workspace = makeWorkspace("pnpm-checkout", ["native-runner", "app"]);
  const checkout = path.join(workspace, "native-runner");
  copyCheckout(checkout);
  const application = makeApplication(path.join(workspace, "app"), "workspace:*");
  pnpm(["install", "--no-frozen-lockfile"], workspace);
  pnpm(["--filter", name, "build"], workspace);
  checkConsumer(application, { bubblewrapWorks });
}

function demoFromTarballWithPnpm(tarball) {
  const workspace = makeWorkspace("pnpm-demo", ["packages/*"]);
  const demo = path.join(workspace, "packages", "demo-node");
  copyCheckout(demo, demoDirectory);
  const manifest = JSON.parse(readFileSync(path.join(demo, "package.json"), "utf8"));
  manifest.dependencies[name] = `file:${tarball}`;
  writeJson(demo, manifest);
  const application = path.join(workspace, "packages", "app");
  mkdirSync(application);
  const dependencies = { [manifest.name]: "workspace:*" };
  writeJson(application, { name: "app", version: "1.0.0", private: true, dependencies });
  pnpm(["install", "--no-frozen-lockfile"], workspace);
  return checkDemo(application, { bubblewrapWorks });
}

/** What a clone would hold of a directory, with what is not committed yet. */
function copyCheckout(target, directory = root) {
  const listing = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const listed = outputOf("git", listing, { cwd: directory });
  if (listed === undefined) fail(`${root} is no git checkout: the workspace check needs one`);
  for (const file of listed.split("\0").filter(Boolean)) {
    cpSync(path.join(directory, file), path.join(target, file), { verbatimSymlinks: true });
  }
}

const tarball = makeTarball();
run(process.execPath, ["scripts/pack.mjs", "--clean"]);
const isAll = process.argv.includes("--all");
const others = {
  "pnpm workspace, from the tarball": () => fromTarballWithPnpm(tarball),
  "pnpm workspace, from a checkout": () => fromCheckoutWithPnpm(),
  "demo-node in a pnpm workspace, from the tarball": () => demoFromTarballWithPnpm(tarball),
};
const checks = {
  "npm, from the tarball": () => fromTarballWithNpm(tarball),
  "README, by a newcomer": () => asNewcomer(tarball),
  ...(isAll ? others : {}),
};
for (const [label, check] of Object.entries(checks)) {
  const start = performance.now();
  await check();
  console.log(`${label}: ok (${((performance.now() - start) / 1000).toFixed(1)} s)`);
}
