/**
 * Masks over the worker's own secrets: its key of the broker is readable to its user, and so to commands, wherever a
 * policy shows the directory in which it lies. The masks are mounts behind all others, which no caller can leave out.
 */

import { realpathSync } from "node:fs";
import path from "node:path";

import type { NativeMount, SandboxRoot } from "../../../types/public.js";
import { invalidValue } from "../../errors.js";
import { kDefaultRoBinds } from "../../runners/bubblewrap.js";

type Shown = {
  roBinds?: readonly string[] | undefined;
  root?: SandboxRoot | undefined;
  mounts?: readonly NativeMount[] | undefined;
};

/** Returns the real path; undefined for one that does not exist. */
function realOf(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

/** Returns the path below a directory; undefined for one that is not in it. */
function below(directory: string, file: string): string | undefined {
  const rest = path.relative(directory, file);
  return rest === ".." || rest.startsWith("../") ? undefined : rest;
}

/**
 * Returns the places at which a sandbox would show a file.
 * @param secret a real path
 */
export function placesShowing(
  secret: string,
  { root, roBinds = root === undefined ? kDefaultRoBinds : [], mounts = [] }: Shown,
  real: (file: string) => string | undefined = realOf,
): string[] {
  const places = new Set<string>();
  const add = (host: string, guest: string) => {
    const at = real(host);
    const rest = at === undefined ? undefined : below(at, secret);
    if (rest !== undefined) places.add(path.join(guest, rest));
  };
  // A bind that is a link into another one stays a link: the file is masked where that one shows it.
  const isOwn = (bind: string) =>
    !roBinds.some(
      (other) =>
        other !== bind && real(bind) !== bind && below(other, real(bind) ?? bind) !== undefined,
    );
  for (const bind of roBinds) if (isOwn(bind)) add(bind, bind);
  if (root !== undefined && "directory" in root) add(root.directory, "/");
  for (const { hostPath, guestPath } of mounts) add(hostPath, guestPath ?? hostPath);
  return [...places];
}

/**
 * Returns real paths of secrets that may lie anywhere but in a workspace, where no mask would hold.
 * @throws TypeError that names the file
 */
export function expectOutside(secrets: readonly string[], workspaces: string): string[] {
  const root = realOf(workspaces) ?? workspaces;
  return secrets.flatMap((file) => {
    const secret = realOf(file);
    if (secret === undefined) return [];
    if (root === "/" || below(root, secret) === undefined) return [secret];
    throw invalidValue(
      `${file} is a secret of the worker, and lies below --workspaces: put it elsewhere`,
    );
  });
}

/** Returns the options with masks over secrets, behind all other mounts. @param empty path of an empty file */
export function withMasks<Options extends Shown>(
  options: Options,
  secrets: readonly string[],
  empty: string,
): Options {
  const places = secrets.flatMap((secret) => placesShowing(secret, options));
  if (places.length === 0) return options;
  const masks = places.map(
    (guestPath): NativeMount => ({ hostPath: empty, guestPath, mode: "ro" }),
  );
  return { ...options, mounts: [...(options.mounts ?? []), ...masks] };
}
