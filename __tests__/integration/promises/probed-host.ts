/** What the probes find on the host: a workspace, secrets beside it, and the program that probes. */

import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { kNodeProgram } from "../support/node-arguments.js";
import { buildProbe } from "../support/probe.js";
import { isRoot } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

export const kSecret = "the-secret-of-the-host";

export type Scene = {
  workspace: string;
  /** Where the sandbox shows the workspace. */
  inside: string;
  /** A directory outside the workspace that a policy may mount read-only. */
  outside: string;
  /** Files that hold kSecret, by where they lie. */
  secrets: { home: string; tmp: string; var: string; outside: string };
  /** A home directory that is not the workspace. */
  home: string;
  isRoot: boolean;
};

/** The probe's path inside the sandbox and, since it is relative to the workspace, outside too. */
export const kProbe = "./probe";

/** Not /tmp: that is the one place that runtimes without mounts may share with the host. */
const kPlace = "/var/tmp";

const kSystem = ["/usr", "/bin", "/lib", "/lib64", "/etc"].filter((path) => existsSync(path));

/** The default binds, and more. */
export const bindsWith = (...more: string[]): string[] => [...kSystem, ...more];

/** The default binds, and where this Node is if it is in none of them. */
export const bindsWithNode = (): string[] => {
  const node = dirname(realpathSync(kNodeProgram));
  return node.startsWith("/usr/") ? [...kSystem] : bindsWith(node);
};

function plant(directory: string): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, "secret");
  writeFileSync(file, kSecret);
  return file;
}

/** @param inside where the sandbox shows the workspace; default: at its host path. */
export function makeScene(inside?: string): Scene {
  const workspace = tempDirectory("workspace", kPlace);
  const home = tempDirectory("home", kPlace);
  const outside = tempDirectory("outside", kPlace);
  mkdirSync(join(workspace, "mnt"));
  buildProbe(workspace);
  const secrets = {
    home: plant(join(home, ".ssh")),
    tmp: plant(tempDirectory("tmp", "/tmp")),
    var: plant(tempDirectory("var", kPlace)),
    outside: plant(outside),
  };
  return { workspace, inside: inside ?? workspace, outside, secrets, home, isRoot };
}
