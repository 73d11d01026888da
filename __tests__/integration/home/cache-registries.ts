/** Package registries on loopback, with packages that say "it works", and tools of the host that ask them. */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

import { tempDirectory } from "../support/temp.js";

/** Why a test of these programs can't run here; undefined if all of them are there. */
export function whyNo(...programs: string[]): string | undefined {
  const missing = programs.find(
    (name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0,
  );
  return missing && `there is no ${missing}`;
}

/** Files of a directory, by their paths in it. */
export type Files = Record<string, string | Buffer>;

/** Writes them below the directory. */
export function putFiles(directory: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** A directory with these files, packed by a program: the words that make "archive" of what lies in ".". */
export function packed(files: Files, ...words: string[]): Buffer {
  const directory = tempDirectory("packed");
  putFiles(join(directory, "content"), files);
  const [program = "", ...args] = words;
  execFileSync(program, args, { cwd: join(directory, "content") });
  return readFileSync(join(directory, "archive"));
}

const tarball = (files: Files) => packed(files, "tar", "-czf", "../archive", ...Object.keys(files));

const hashOf = (algorithm: string, bytes: string | Buffer): Buffer =>
  createHash(algorithm).update(bytes).digest();

/** An answer that is kept back: `asked` settles once the request is there, `give` lets it have its answer. */
export type Held = { asked: Promise<void>; give(): void };

export type Registry = {
  /** Ends with a slash. */
  url: string;
  /** Keeps back the answers to requests whose path matches. */
  hold(path: RegExp): Held;
};

/** Serves what `answer` returns for a path without its first slash; undefined is "404". */
export async function registry(
  answer: (path: string, url: string) => string | Buffer | undefined,
): Promise<Registry> {
  const held: { path: RegExp; asked: () => void; given: Promise<void> }[] = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent((request.url ?? "").slice(1));
    for (const each of held.filter((one) => one.path.test(path))) {
      each.asked();
      await each.given;
    }
    const content = answer(path, `http://${request.headers.host}/`);
    response.statusCode = content === undefined ? 404 : 200;
    response.end(content);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    hold: (path) => {
      let ask = () => {};
      let give = () => {};
      const asked = new Promise<void>((resolve) => {
        ask = resolve;
      });
      const given = new Promise<void>((resolve) => {
        give = resolve;
      });
      held.push({ path, asked: ask, given });
      return { asked, give };
    },
  };
}

/** The first answer for a name is that for all later ones: an archive has the time in it. */
function perName<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>();
  return (name) => {
    const known = made.get(name) ?? make(name);
    made.set(name, known);
    return known;
  };
}

/** For npm, pnpm and yarn: packages of any name, version 1.0.0. */
export function npmRegistry(): Promise<Registry> {
  const archive = perName((name) =>
    tarball({
      "package/package.json": JSON.stringify({ name, version: "1.0.0" }),
      "package/index.js": 'module.exports = "it works";\n',
    }),
  );
  return registry((path, url) => {
    const name = path.split("/")[0] ?? "";
    const bytes = archive(name);
    if (path.endsWith(".tgz")) return bytes;
    const integrity = `sha512-${hashOf("sha512", bytes).toString("base64")}`;
    const shasum = hashOf("sha1", bytes).toString("hex");
    const dist = { tarball: `${url}${name}/-/${name}-1.0.0.tgz`, integrity, shasum };
    const versions = { "1.0.0": { name, version: "1.0.0", dist } };
    const time = { "1.0.0": "2020-01-01T00:00:00.000Z" }; // yarn 4 refuses what is new
    return JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions, time });
  });
}

/** For cargo: a sparse index of crates of any name with four letters or more, version 1.0.0. */
export function crateRegistry(): Promise<Registry> {
  const archive = perName((name) =>
    tarball({
      [`${name}-1.0.0/Cargo.toml`]: `[package]\nname = "${name}"\nversion = "1.0.0"\nedition = "2021"\n`,
      [`${name}-1.0.0/src/lib.rs`]: 'pub fn says() -> &\'static str { "it works" }\n',
    }),
  );
  return registry((path, url) => {
    if (path === "config.json") return JSON.stringify({ dl: `${url}dl` });
    const download = /^dl\/(\w+)\/1\.0\.0\/download$/.exec(path)?.[1];
    if (download !== undefined) return archive(download);
    const name = /^\w\w\/\w\w\/(\w+)$/.exec(path)?.[1];
    if (name === undefined) return undefined;
    const cksum = hashOf("sha256", archive(name)).toString("hex");
    return `${JSON.stringify({ name, vers: "1.0.0", deps: [], cksum, features: {}, yanked: false })}\n`;
  });
}

/** A plugin of Maven's whose goal "say" prints what the dependencies' resource "says" has. */
const kMojo = `package made;
import java.io.*;
import java.util.*;
import java.util.jar.*;
import org.apache.maven.plugin.*;
public class Say extends AbstractMojo {
  private List<String> elements;
  public void execute() throws MojoExecutionException {
    for (String element : elements) {
      if (!element.endsWith(".jar")) continue;
      try (JarFile jar = new JarFile(element)) {
        InputStream says = jar.getInputStream(jar.getEntry("says"));
        System.out.println(new String(says.readAllBytes()));
      } catch (IOException error) {
        throw new MojoExecutionException("can't read " + element, error);
      }
    }
  }
}
`;
const kMojoDescriptor = `<plugin><groupId>made</groupId><artifactId>say-plugin</artifactId><version>1.0.0</version>
<goalPrefix>say</goalPrefix><mojos><mojo><goal>say</goal><implementation>made.Say</implementation><language>java</language>
<instantiationStrategy>per-lookup</instantiationStrategy><description>says</description>
<requiresDependencyResolution>runtime</requiresDependencyResolution>
<parameters><parameter><name>elements</name><type>java.util.List</type></parameter></parameters>
<configuration><elements implementation="java.util.List">\${project.runtimeClasspathElements}</elements></configuration>
</mojo></mojos></plugin>
`;

function mojoJar(): Buffer {
  const version = execFileSync("mvn", ["-B", "-version"], { encoding: "utf8" });
  const home = /Maven home: (\S+)/.exec(version)?.[1] ?? "";
  const directory = tempDirectory("mojo");
  putFiles(directory, { "made/Say.java": kMojo, "META-INF/maven/plugin.xml": kMojoDescriptor });
  execFileSync("javac", ["-cp", `${home}/lib/*`, "made/Say.java"], { cwd: directory });
  execFileSync("jar", ["-cf", "archive", "made", "META-INF"], { cwd: directory });
  return readFileSync(join(directory, "archive"));
}

/** For Maven: artifacts of any name (one of Maven's own is asked for too), and a plugin that prints what they say. */
export function mavenRegistry(): Promise<Registry> {
  const archive = perName((name) =>
    name === "say-plugin"
      ? mojoJar()
      : packed({ says: "it works" }, "jar", "-cf", "../archive", "says"),
  );
  const answer = (path: string): string | Buffer | undefined => {
    const [, directory = "", name = "", version = "", kind] =
      /^(.+)\/([^/]+)\/([^/]+)\/\2-\3\.(pom|jar)$/.exec(path) ?? [];
    if (kind === "jar") return archive(name);
    if (kind === undefined) return undefined;
    const packaging = name === "say-plugin" ? "maven-plugin" : "jar";
    const group = directory.replaceAll("/", ".");
    return `<project><modelVersion>4.0.0</modelVersion><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version><packaging>${packaging}</packaging></project>`;
  };
  return registry((path) => {
    if (!path.endsWith(".sha1")) return answer(path);
    const content = answer(path.slice(0, -".sha1".length));
    return content && hashOf("sha1", content).toString("hex");
  });
}

/** Go refuses an archive with entries for directories, which "python3 -m zipfile" makes. */
const kZip = `import sys, zipfile
with zipfile.ZipFile("../archive", "w") as archive:
    for path in sys.argv[1:]: archive.write(path)
`;

/** For Go: a proxy of modules made.test/NAME of any name, version 1.0.0. */
export function goProxy(): Promise<Registry> {
  const module = (name: string) => `module made.test/${name}\n`;
  const archive = perName((name) => {
    const root = `made.test/${name}@v1.0.0`;
    const code = `package ${name}\n\nfunc Says() string { return "it works" }\n`;
    const files = { [`${root}/go.mod`]: module(name), [`${root}/${name}.go`]: code };
    return packed(files, "python3", "-c", kZip, ...Object.keys(files));
  });
  return registry((path) => {
    const [, name = "", kind] = /^made\.test\/(\w+)\/@v\/(list|v1\.0\.0\.\w+)$/.exec(path) ?? [];
    if (kind === "list") return "v1.0.0\n";
    if (kind === "v1.0.0.info") return '{"Version":"v1.0.0"}';
    if (kind === "v1.0.0.mod") return module(name);
    return kind === "v1.0.0.zip" ? archive(name) : undefined;
  });
}

/** What a line of the shell prints on the host, in this directory. */
export async function onHost(
  cwd: string,
  line: string,
  env: Record<string, string> = {},
): Promise<string> {
  const shell = spawn("sh", ["-c", `{ ${line}; } 2>&1`], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return text(shell.stdout);
}

/** The repository's own packages. */
export const kInstalled = fileURLToPath(new URL("../../../node_modules", import.meta.url));

/** Why a program of them can't be had; undefined if it can. */
export const whyNotInstalled = (name: string): string | undefined =>
  existsSync(join(kInstalled, name)) ? undefined : `${name} is not installed`;
