/** What the host and commands do to the same few files, and those files. */

import {
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { tempDirectory } from "../../../integration/support/temp.js";

export const kFiles = [
  "a",
  "b",
  "linked",
  "new",
  "d/x",
  "d/y",
  "d/new",
  "d/e/z",
  "d/e/new",
  "m/one",
];
export const kDirectories = ["d", "d/e", "m"];

/** The file with a second name, and that name. */
const kFirstName = "b";
const kSecondName = "linked";

/** May throw where it can't be done. */
type HostAct = (at: string, path: string, tag: string) => void;

const inWorkspace =
  (act: (full: string, tag: string) => void): HostAct =>
  (at, path, tag) =>
    act(join(at, path), tag);

export const replace: HostAct = (at, path, tag) => {
  writeFileSync(join(at, ".tmp"), tag);
  renameSync(join(at, ".tmp"), join(at, path));
};

export const kHostActs: Record<string, HostAct> = {
  "writes in place": inWorkspace((full, tag) => writeFileSync(full, tag)),
  replaces: replace,
  removes: inWorkspace((full) => rmSync(full, { recursive: true })),
  "changes the mode of": inWorkspace((full) => chmodSync(full, 0o751)),
  "puts a link in the place of": inWorkspace((full, tag) => {
    rmSync(full, { recursive: true, force: true });
    symlinkSync(tag, full);
  }),
  "puts a hard link in the place of": (at, path) => {
    linkSync(join(at, kFirstName), join(at, ".tmp"));
    rmSync(join(at, path), { recursive: true, force: true });
    renameSync(join(at, ".tmp"), join(at, path));
  },
  "puts a directory in the place of": inWorkspace((full, tag) => {
    rmSync(full, { recursive: true, force: true });
    mkdirSync(full);
    writeFileSync(join(full, "one"), tag);
  }),
};

/** Scripts; those that write through a mapping have the probe in $PROBE. */
export const kCommandActs: Record<string, (path: string, tag: string) => string> = {
  "writes in place": (path, tag) => `echo ${tag} > ${path}`,
  replaces: (path, tag) => `echo ${tag} > .t && mv -T .t ${path}; rm -f .t`,
  removes: (path) => `rm -r ${path}`,
  "changes the mode of": (path) => `chmod 700 ${path}`,
  "puts a link in the place of": (path, tag) => `rm -rf ${path}; ln -s ${tag} ${path}`,
  "puts a hard link in the place of": (path) =>
    `ln ${kFirstName} .t && rm -rf ${path} && mv -T .t ${path}; rm -f .t`,
  "puts a directory in the place of": (path, tag) =>
    `rm -rf ${path}; mkdir ${path}; echo ${tag} > ${path}/one`,
  "makes directories for": (path, tag) => `mkdir -p $(dirname ${path}); echo ${tag} > ${path}`,
  "writes through a mapping of": (path, tag) =>
    `test -s ${path} && at=$(mktemp -d) && touch $at/go-1 && $PROBE write-mapped ${path} $at ${tag}`,
};

/** A new workspace with these files, in a directory that defaults to the host's temporary one. */
export function workspaceOfFew(parent?: string): string {
  const workspace = tempDirectory("work", parent);
  for (const path of kFiles.filter((each) => !each.includes("new") && each !== kSecondName)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), `host ${path}\n`);
  }
  linkSync(join(workspace, kFirstName), join(workspace, kSecondName));
  return workspace;
}
