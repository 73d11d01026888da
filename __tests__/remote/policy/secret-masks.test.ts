/** The worker's own secrets: masked at each place at which a sandbox would show them, and only there. */

import { expect, test } from "vitest";

import {
  expectOutside,
  placesShowing,
  withMasks,
} from "../../../lib/remote/policy/secret-masks.js";

const kLinks: Record<string, string> = { "/lib": "/usr/lib", "/keys": "/srv/keys" };
const real = (file: string) => kLinks[file] ?? file;

test.each([
  ["a default", "/etc/nr/w.nk", {}, ["/etc/nr/w.nk"]],
  ["another root", "/srv/root/keys/w.nk", { root: { directory: "/srv/root" } }, ["/keys/w.nk"]],
  ["no default beside it", "/etc/nr/w.nk", { root: { directory: "/srv/root" } }, []],
  ["nowhere", "/srv/keys/w.nk", {}, []],
  ["no neighbour", "/etcetera/w.nk", {}, []],
  ["a bind that is a link", "/srv/keys/w.nk", { roBinds: ["/keys"] }, ["/keys/w.nk"]],
  ["a link into another bind", "/usr/lib/w.nk", { roBinds: ["/usr", "/lib"] }, ["/usr/lib/w.nk"]],
  [
    "a mount of a directory",
    "/srv/keys/w.nk",
    { roBinds: [], mounts: [{ hostPath: "/srv", guestPath: "/s", mode: "rw" as const }] },
    ["/s/keys/w.nk"],
  ],
  [
    "a mount of itself",
    "/k",
    { roBinds: [], mounts: [{ hostPath: "/k", guestPath: "/x", mode: "ro" as const }] },
    ["/x"],
  ],
  ["everything", "/srv/w.nk", { roBinds: ["/"] }, ["/srv/w.nk"]],
])("of %s", (_what, secret, shown, places) => {
  expect(placesShowing(secret, shown, real)).toEqual(places);
});

test("lie behind all other mounts", () => {
  const options = { roBinds: ["/etc"], mounts: [{ hostPath: "/srv", mode: "rw" as const }] };
  expect(withMasks(options, ["/etc/hostname"], "/empty").mounts).toEqual([
    { hostPath: "/srv", mode: "rw" },
    { hostPath: "/empty", guestPath: "/etc/hostname", mode: "ro" },
  ]);
  expect(withMasks(options, ["/home/key"], "/empty")).toBe(options);
});

test("are refused in workspaces, where commands could move them", () => {
  expect(() => expectOutside([import.meta.filename], import.meta.dirname)).toThrow(
    "below --workspaces",
  );
  expect(expectOutside(["/etc/hostname", "/nowhere/at/all"], import.meta.dirname)).toEqual([
    "/etc/hostname",
  ]);
});
