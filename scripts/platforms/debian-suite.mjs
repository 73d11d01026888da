// Packages of another Debian suite, or of another processor, than this machine's own. apt keeps its
// state for that in a folder of ours: the system's sources and packages are left alone.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { outputOf, runQuietly } from "../lib/run.mjs";
import { cacheDirectory } from "./cache.mjs";

const kSources = "/etc/apt/sources.list.d/debian.sources";
const kKeys = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** Where this machine gets Debian's packages from. */
function archive() {
  const uri = existsSync(kSources) && /^URIs: *(\S+)/m.exec(readFileSync(kSources, "utf8"))?.[1];
  if (!uri) throw new Error(`no Debian archive is named in ${kSources}`);
  return uri;
}

const configurationOf = (directory, arch) => `Dir::Etc "${directory}/etc/";
Dir::Etc::sourcelist "${directory}/etc/sources.list";
Dir::Etc::sourceparts "${directory}/etc/sources.list.d";
Dir::Etc::preferencesparts "${directory}/etc/preferences.d";
Dir::Etc::parts "${directory}/etc/apt.conf.d";
Dir::State "${directory}/state/";
Dir::State::lists "${directory}/lists/";
Dir::State::status "${directory}/status";
Dir::Cache "${directory}/cache/";
APT::Architecture "${arch}";
APT::Architectures { "${arch}"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
`;

/** Why there are no packages of other suites here; undefined: there are. */
export function whyNoSuites() {
  if (outputOf("apt-get", ["--version"]) === undefined) return "there is no apt-get";
  return existsSync(kSources) ? undefined : `there is no ${kSources}`;
}

const today = () => new Date().toISOString().slice(0, 10);
const isText = (file, text) => existsSync(file) && readFileSync(file, "utf8") === text;

export class DebianSuite {
  /** @param suite a name such as "trixie". @param arch Debian's name of a processor. */
  constructor(suite, arch = "amd64") {
    this.suite = suite;
    this.directory = cacheDirectory("suites", `${suite}-${arch}`);
    this.arch = arch;
  }

  #apt(program, args, options = {}) {
    const env = { ...process.env, APT_CONFIG: path.join(this.directory, "apt.conf") };
    return runQuietly(program, args, { cwd: this.directory, env, ...options });
  }

  /** Asks the archive what it has, unless that was done today. What it is asked with names this checkout's place. */
  update() {
    const stamp = path.join(this.directory, "updated");
    const configuration = configurationOf(this.directory, this.arch);
    const file = path.join(this.directory, "apt.conf");
    if (isText(stamp, today()) && isText(file, configuration)) return;
    for (const part of ["etc/sources.list.d", "etc/preferences.d", "etc/apt.conf.d", "state"]) {
      mkdirSync(path.join(this.directory, part), { recursive: true });
    }
    for (const part of ["lists/partial", "cache/archives/partial"]) {
      mkdirSync(path.join(this.directory, part), { recursive: true });
    }
    writeFileSync(path.join(this.directory, "status"), "");
    writeFileSync(file, configuration);
    const line = `deb [arch=${this.arch} signed-by=${kKeys}] ${archive()} ${this.suite} main\n`;
    writeFileSync(path.join(this.directory, "etc/sources.list"), line);
    this.#apt("apt-get", ["update", "-qq"]);
    writeFileSync(stamp, today());
  }

  /** The version that the suite has of a package. */
  versionOf(name) {
    this.update();
    const shown = this.#apt("apt-cache", ["policy", name]);
    return /Candidate: (\S+)/.exec(shown)?.[1];
  }

  /** Unpacks a binary package, without installing it; returns the folder. */
  unpacked(name) {
    const version = this.versionOf(name);
    const into = path.join(this.directory, "unpacked", `${name}-${version}`.replaceAll(":", "%"));
    if (existsSync(into)) return into;
    const files = path.join(this.directory, "files", name);
    mkdirSync(files, { recursive: true });
    this.#apt("apt-get", ["download", `${name}=${version}`], { cwd: files });
    const wanted = `${name}_${version.replaceAll(":", "%3a")}_`;
    const file = readdirSync(files).find((each) => each.startsWith(wanted));
    mkdirSync(path.dirname(into), { recursive: true });
    runQuietly("dpkg-deb", ["-x", path.join(files, file), into]);
    return into;
  }

  /** The packages of this suite whose name matches, as the archive lists them. */
  namesLike(pattern) {
    this.update();
    const lines = this.#apt("apt-cache", ["search", "--names-only", pattern]).split("\n");
    return lines.map((line) => line.split(" ")[0]).filter((name) => name !== "");
  }

  /**
   * Unpacks packages and all that they depend on into one folder, and returns it. It is kept while the
   * archive, which is asked once a day, has the same. No script of theirs is run, so they may be for
   * another processor; as root their files keep their owners.
   */
  treeOf(name, packages) {
    const into = path.join(this.directory, "trees", name);
    const stamp = path.join(into, ".packages");
    const asked = path.join(this.directory, "trees", `${name}.asked`);
    const question = `${today()} ${packages.join(" ")}`;
    if (existsSync(stamp) && isText(asked, question)) return into;
    this.update();
    const words = [
      "-y",
      "--no-install-recommends",
      "--no-install-suggests",
      "install",
      ...packages,
    ];
    const planned = this.#apt("apt-get", ["--simulate", ...words]);
    // Inst NAME (VERSION ORIGIN [ARCHITECTURE]) ...
    const installed = planned.matchAll(/^Inst (\S+) \((\S+) .*?\[(\w+)\]\)/gm);
    const files = [...installed].map(
      ([, each, version, arch]) => `${each}_${version.replaceAll(":", "%3a")}_${arch}.deb`,
    );
    const wanted = `${files.toSorted().join("\n")}\n`;
    if (!isText(stamp, wanted)) this.#unpackAll(files, words, into, wanted);
    writeFileSync(asked, question);
    return into;
  }

  #unpackAll(files, words, into, wanted) {
    this.#apt("apt-get", ["--download-only", "-qq", ...words]);
    const unfinished = `${into}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    // base-files has the links that the others' files are to go through, such as /lib.
    const isFirst = (file) => file.startsWith("base-files_");
    for (const file of [...files.filter(isFirst), ...files.filter((each) => !isFirst(each))]) {
      runQuietly("dpkg-deb", ["-x", path.join(this.directory, "cache/archives", file), unfinished]);
    }
    writeFileSync(path.join(unfinished, ".packages"), wanted);
    rmSync(into, { recursive: true, force: true });
    renameSync(unfinished, into);
  }
}
