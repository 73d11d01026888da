import { isAbsolute, resolve } from "node:path";

import type { NativeMount } from "../../../types/public.js";

const isMode = (text: string | undefined) => text === "ro" || text === "rw";

/**
 * A mount of "HOST", "HOST:GUEST", "HOST:ro" or "HOST:GUEST:rw"; read-only where nothing is said. A
 * relative host path is this process's. Undefined when the text is none of these, as where a path
 * has a colon: a configuration file can name that.
 */
export function parseMount(text: string): NativeMount | undefined {
  const parts = text.split(":");
  const last = parts.at(-1);
  const mode = last === "rw" ? "rw" : "ro";
  if (parts.length > 1 && isMode(last)) parts.pop();
  const [host = "", guestPath, ...others] = parts;
  if (host === "" || others.length > 0) return undefined;
  const hostPath = resolve(host);
  if (guestPath === undefined) return { hostPath, mode };
  return isAbsolute(guestPath) ? { hostPath, guestPath, mode } : undefined;
}
