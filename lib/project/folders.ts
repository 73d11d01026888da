/** The folders of a project, as they are bound: real paths, none inside another. */

import { realpathSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";

import { invalidType, invalidValue } from "../errors.js";
import { expectFields } from "../fields.js";

/** A folder by its absolute path, or an object that has one. */
export type BwrapFolder = string | { readonly path: string };

function pathOf(folder: BwrapFolder, field: string): string {
  const isObject = typeof folder === "object" && folder !== null;
  if (isObject) expectFields(folder, field, { path: true });
  const path = isObject ? folder.path : folder;
  if (typeof path !== "string") throw invalidType(field, "an absolute path", folder);
  if (!isAbsolute(path) || path.includes("\0")) {
    throw invalidValue(`Expected \`${field}\` to be an absolute path, got ${JSON.stringify(path)}`);
  }
  return path;
}

function realFolder(folder: BwrapFolder, field: string): string {
  const path = pathOf(folder, field);
  let reason = "it is a file";
  try {
    const real = realpathSync(path);
    if (statSync(real).isDirectory()) return real;
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  throw invalidValue(
    `Expected \`${field}\` to be a folder that exists, got ${JSON.stringify(path)}: ${reason}`,
  );
}

const isInside = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/** The folders to bind, and where commands start. */
export type ProjectFolders = {
  /** The real path of each, the project first. */
  projects: [string, ...string[]];
  /** What is bound: those that are not inside another. */
  bound: string[];
};

/**
 * Resolves links, and folds duplicates and folders inside others into one.
 * @throws TypeError that names what is not absolute, or not there.
 */
export function projectFolders(
  project: BwrapFolder,
  additional: readonly BwrapFolder[],
): ProjectFolders {
  const root = realFolder(project, "project");
  const others = new Set(
    additional.map((folder, index) => realFolder(folder, `additionalFolders[${index}]`)),
  );
  others.delete(root);
  const projects: [string, ...string[]] = [root, ...others];
  const bound = projects.filter(
    (path) => !projects.some((other) => other !== path && isInside(path, other)),
  );
  return { projects, bound };
}
