/** The mounts of a call, checked, and as far as a runtime can have them. Pure. */

import { isAbsolute, normalize } from "node:path";

import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import type { RuntimeMount } from "./runtime.js";

/** A mount with nothing left out. */
export type Mount = { hostPath: string; guestPath: string; mode: "ro" | "rw" };

const kMount: FieldsOf<RuntimeMount> = { hostPath: true, guestPath: true, mode: true };

function checkPath(field: string, path: unknown): string {
  if (typeof path !== "string" || !isAbsolute(path) || path.includes("\0")) {
    throw invalidType(field, "an absolute path", path);
  }
  const plain = normalize(path);
  return plain.length > 1 && plain.endsWith("/") ? plain.slice(0, -1) : plain;
}

/** @throws TypeError that names the field. */
export function checkMounts(mounts: readonly RuntimeMount[] | undefined): Mount[] {
  if (mounts === undefined) return [];
  if (!Array.isArray(mounts)) throw invalidType("mounts", "an array", mounts);
  return mounts.map((mount: RuntimeMount, index) => {
    const field = `mounts[${index}]`;
    expectFields(mount, field, kMount);
    const { mode = "ro" } = mount;
    if (mode !== "ro" && mode !== "rw") throw invalidType(`${field}.mode`, '"ro" or "rw"', mode);
    const hostPath = checkPath(`${field}.hostPath`, mount.hostPath);
    const guestPath = checkPath(`${field}.guestPath`, mount.guestPath ?? hostPath);
    return { hostPath, guestPath, mode };
  });
}

/** @throws TypeError for a mount that would have to appear at another path. */
export function samePlace(mounts: readonly Mount[], runtime: string): readonly Mount[] {
  for (const { hostPath, guestPath } of mounts) {
    if (hostPath === guestPath) continue;
    throw invalidValue(
      `${runtime} can't show ${hostPath} at ${guestPath}: its paths are the host's`,
    );
  }
  return mounts;
}

/** The host paths of the mounts with this mode. */
export function hostPaths(mounts: readonly Mount[], mode: Mount["mode"]): string[] {
  return mounts.filter((mount) => mount.mode === mode).map((mount) => mount.hostPath);
}
