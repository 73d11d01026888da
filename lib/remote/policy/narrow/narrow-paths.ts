/**
 * What is mounted: only what the ceiling mounts, each at its own place. A path below one of the ceiling's
 * is not taken for narrower: commands may have planted a link there, which the mount would follow.
 */

import type { NativeMount } from "../../../../types/public.js";
import { kDefaultRoBinds } from "../../../runners/bubblewrap.js";
import type { Asked } from "../policy-schema.js";
import { listed, Refusal } from "../refusal.js";

type AskedMount = NonNullable<Asked["mounts"]>[number];

const kWorkspace = "/workspace";

/** Without doubled slashes, ".", and a slash at the end. */
function normal(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return `/${parts.join("/")}`;
}

/** Whether `path` is `above`, or lies below it. */
function isWithin(path: string, above: string): boolean {
  return above === "/" || path === above || path.startsWith(`${above}/`);
}

const guestOf = ({ hostPath, guestPath }: AskedMount | NativeMount) =>
  normal(guestPath ?? hostPath);

/** Those of the ceiling's that are asked for, in the ceiling's order. */
export function narrowRoBinds(
  ceiling: readonly string[] | undefined,
  asked: readonly string[] | undefined,
): readonly string[] | undefined | Refusal {
  if (asked === undefined) return ceiling;
  const all = ceiling ?? kDefaultRoBinds;
  const known = new Set(all.map(normal));
  const at = asked.findIndex((path) => !known.has(normal(path)));
  if (at >= 0) {
    const allowed = all.length > 0 ? `one of ${listed(all)}` : "left out";
    return new Refusal(`roBinds[${at}]`, asked[at], allowed);
  }
  const wanted = new Set(asked.map(normal));
  return all.filter((path) => wanted.has(normal(path)));
}

/**
 * A mount that lies over something else hides it. To leave it out would show what the operator has
 * hidden, so it stays whatever is asked for.
 */
function hides(mounts: readonly NativeMount[], at: number, roBinds: readonly string[]): boolean {
  const guest = guestOf(mounts[at] as NativeMount);
  const below = [...roBinds.map(normal), ...mounts.slice(0, at).map(guestOf), kWorkspace];
  return below.some((place) => isWithin(guest, place) || isWithin(place, guest));
}

/** Those of the ceiling's that are asked for, and those that hide something, in the ceiling's order. */
export function narrowMounts(
  ceiling: readonly NativeMount[],
  asked: readonly AskedMount[] | undefined,
  ceilingRoBinds: readonly string[] | undefined,
): readonly NativeMount[] | Refusal {
  if (asked === undefined) return ceiling;
  const modes = new Map<number, "ro" | "rw">();
  for (const [at, mount] of asked.entries()) {
    const of = ceiling.findIndex(
      (each) =>
        normal(each.hostPath) === normal(mount.hostPath) && guestOf(each) === guestOf(mount),
    );
    const found = ceiling[of];
    if (found === undefined) {
      const places = ceiling.map((each) => `${normal(each.hostPath)} at ${guestOf(each)}`);
      const allowed = places.length > 0 ? `one of ${listed(places)}` : "left out";
      return new Refusal(`mounts[${at}]`, { ...mount }, allowed);
    }
    if (modes.has(of)) return new Refusal(`mounts[${at}]`, { ...mount }, "named once");
    if (mount.mode === "rw" && found.mode === "ro") {
      return new Refusal(`mounts[${at}].mode`, mount.mode, '"ro"');
    }
    modes.set(of, mount.mode);
  }
  const roBinds = ceilingRoBinds ?? kDefaultRoBinds;
  return ceiling.flatMap((mount, at) => {
    const mode = modes.get(at);
    if (mode !== undefined) return [{ ...mount, mode }];
    return hides(ceiling, at, roBinds) ? [mount] : [];
  });
}
