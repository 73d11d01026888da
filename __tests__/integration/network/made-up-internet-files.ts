/** What the servers of a made-up internet have, for clients that fetch. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { plainEnvironment } from "../support/requirements.js";
import type { World } from "./made-up-internet.js";

export function put(world: World, file: string, content: string | Buffer): void {
  const path = join(world.directory, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function sh(script: string, cwd: string): Buffer {
  const env = { ...plainEnvironment(), HOME: cwd, GIT_CONFIG_GLOBAL: "/dev/null" };
  const done = spawnSync("sh", ["-ec", script], { cwd, env });
  if (done.status !== 0) throw new Error(`${script}: ${done.stderr}`);
  return done.stdout;
}

/** A repository, a package for npm, and one for pip. */
export function fillWorld(world: World, hasPython: boolean): void {
  mkdirSync(join(world.directory, "git"));
  const git = "git -c user.name=A -c user.email=a@a.test -c init.defaultBranch=main";
  sh(
    `mkdir src; cd src; ${git} init -q; echo content > file; git add .; ${git} commit -qm first
     git clone -q --bare . ../git/one; rm -r ../src`,
    world.directory,
  );
  put(world, "package/package.json", '{"name":"dep","version":"1.0.0"}');
  put(world, "package/index.js", "module.exports = 1;\n");
  const tarball = sh("tar czf - package", world.directory);
  put(world, "files/registry.test/dep-1.0.0.tgz", tarball);
  const dist = {
    tarball: "http://registry.test/dep-1.0.0.tgz",
    integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}`,
  };
  const versions = { "1.0.0": { name: "dep", version: "1.0.0", dist } };
  const about = { name: "dep", "dist-tags": { latest: "1.0.0" }, versions };
  put(world, "files/registry.test/dep", JSON.stringify(about));
  const wheel = "dep-1.0-py3-none-any.whl";
  const zip = `import zipfile, sys
z = zipfile.ZipFile("${wheel}", "w"); z.writestr("dep.py", "one = 1\\n")
i = "dep-1.0.dist-info/"; z.writestr(i + "METADATA", "Metadata-Version: 2.1\\nName: dep\\nVersion: 1.0\\n")
z.writestr(i + "WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
z.writestr(i + "RECORD", "dep.py,,\\n" + i + "METADATA,,\\n" + i + "WHEEL,,\\n" + i + "RECORD,,\\n"); z.close()`;
  if (hasPython) {
    mkdirSync(join(world.directory, "files", "pypi.test", "simple", "dep"), { recursive: true });
    sh(`/usr/bin/python3 -c '${zip}'`, join(world.directory, "files", "pypi.test"));
  }
  put(world, "files/pypi.test/simple/dep/index.html", `<a href="/${wheel}">${wheel}</a>`);
}
