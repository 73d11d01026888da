import { describe, expect, it } from "vitest";

import { mountSigns, outerBwrapFix } from "../../lib/project/nesting.js";

describe("the mount table", () => {
  it.each([
    ["27 1 254:0 / / rw,relatime - ext4 /dev/vda rw", []],
    ["27 1 0:30 /@ / rw,relatime shared:1 - btrfs /dev/sda2 rw", []],
    [
      "70 45 0:39 /newroot / rw,nosuid - tmpfs tmpfs rw\n71 70 254:0 /usr /usr ro - ext4 /dev/vda rw",
      ["a root directory that bwrap made"],
    ],
    [
      "590 502 0:58 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/a",
      ["an overlay as root directory"],
    ],
    ["", []],
  ])("%s", (mountinfo, signs) => {
    expect(mountSigns(mountinfo)).toEqual(signs);
  });
});

describe("the outer setting to change", () => {
  it.each([
    ["bwrap: setting up uid map: Read-only file system", /--proc \/proc/],
    ["bwrap: open /proc/35/ns/ns failed: No such file or directory", /--proc \/proc/],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", /--proc \/proc/],
    [
      "bwrap: Creating new namespace failed: nesting depth or … exceeded (ENOSPC)",
      /--disable-userns/,
    ],
    ["bwrap: No permissions to create new namespace", /seccomp/],
  ])("%s", (reason, fix) => {
    expect(outerBwrapFix(reason)).toMatch(fix);
  });

  it("is not made up for what is something else", () => {
    expect(outerBwrapFix("bwrap: Can't find source path /x")).toBeUndefined();
  });
});
