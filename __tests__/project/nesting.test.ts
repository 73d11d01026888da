import { describe, expect, it } from "vitest";

import { mountSigns } from "../../lib/project/nesting.js";

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
