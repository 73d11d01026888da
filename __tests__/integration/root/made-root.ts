/** Root file systems that tests make: of one static program, as an unpacked Alpine has them. */

import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { whyNoOption } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const program = spawnSync("sh", ["-c", "command -v busybox"], { encoding: "utf8" }).stdout.trim();

/** Why no such root can be made here; undefined where one can. */
export const whyNoRoot: string | undefined =
  whyNoOption("--bind-fd") ?? (program === "" ? "there is no busybox on PATH" : undefined);

const kCommands =
  "sh cat cp env grep head id ln ls mkdir mount readlink rm sed sleep sort stat touch true wc";

/** The text of /etc/os-release in it. */
export const kRelease = "ID=made";

/** Fills a directory with a root that has /bin, /etc and /usr, and nothing else. */
export function fillRoot(root: string): void {
  for (const each of ["bin", "etc", "usr/lib"]) mkdirSync(join(root, each), { recursive: true });
  copyFileSync(program, join(root, "bin/busybox"));
  chmodSync(join(root, "bin/busybox"), 0o755);
  for (const name of kCommands.split(" ")) symlinkSync("busybox", join(root, "bin", name));
  writeFileSync(join(root, "etc/os-release"), `${kRelease}\n`);
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  writeFileSync(join(root, "etc/group"), "root:x:0:\n");
}

/** A new root. */
export function madeRoot(): string {
  const root = tempDirectory("root");
  fillRoot(root);
  return root;
}
