import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

import { movedFrom } from "../../scripts/lib/cmake-cache.mjs";

const tops: string[] = [];
afterEach(() => {
  for (const top of tops.splice(0)) rmSync(top, { recursive: true });
});

/** A checkout that was configured where it is, as `home` spells that. */
function checkout(home = (root: string) => root) {
  const top = mkdtempSync(join(tmpdir(), "cmake-cache-"));
  tops.push(top);
  const root = join(top, "here");
  mkdirSync(join(root, "build"), { recursive: true });
  const line = `CMAKE_HOME_DIRECTORY:INTERNAL=${home(root)}\n`;
  writeFileSync(join(root, "build", "CMakeCache.txt"), `# a comment\n${line}CMAKE_X:BOOL=ON\n`);
  return { top, root };
}

describe("a build directory", () => {
  it("that was configured here is of use", () => {
    const { root } = checkout();
    expect(movedFrom(join(root, "build"), root)).toBeUndefined();
  });

  it("may name its place by a link", () => {
    const { top, root } = checkout((root) => `${root}-link`);
    symlinkSync("here", join(top, "here-link"));
    expect(movedFrom(join(root, "build"), root)).toBeUndefined();
  });

  it("of a copy is told, and so is that of a checkout that was moved", () => {
    const { top, root } = checkout();
    cpSync(root, join(top, "copy"), { recursive: true });
    expect(movedFrom(join(top, "copy", "build"), join(top, "copy"))).toBe(root);
    renameSync(root, join(top, "moved"));
    expect(movedFrom(join(top, "moved", "build"), join(top, "moved"))).toBe(root);
  });

  it("that is not configured, or only in part, is not believed to be from here", () => {
    const { root } = checkout(() => "");
    expect(movedFrom(join(root, "build"), root)).toBe("elsewhere");
    expect(movedFrom(join(root, "none"), root)).toBeUndefined();
  });
});
