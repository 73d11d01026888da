import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

import { projectFolders } from "../../lib/project/bwrap.js";

const top = realpathSync(mkdtempSync(join(tmpdir(), "native-runner-folders-")));
const at = (...names: string[]) => join(top, ...names);
for (const name of ["a", "a/in", "ab", "c"]) mkdirSync(at(name));
symlinkSync(at("a"), at("link"));
writeFileSync(at("file"), "");
afterAll(() => rmSync(top, { recursive: true, force: true }));

describe("projectFolders", () => {
  it("resolves links and folds duplicates", () => {
    expect(projectFolders(at("link"), [at("a"), at("c"), at("link"), `${at("c")}/`])).toEqual({
      projects: [at("a"), at("c")],
      bound: [at("a"), at("c")],
    });
  });

  it("folds folders inside others, by whole components, and starts in the project all the same", () => {
    expect(projectFolders(at("a", "in"), [at("ab"), at("a")])).toEqual({
      projects: [at("a", "in"), at("ab"), at("a")],
      bound: [at("ab"), at("a")],
    });
  });

  it("takes objects with a path", () => {
    expect(projectFolders({ path: at("c") }, [{ path: at("a") }]).projects).toEqual([
      at("c"),
      at("a"),
    ]);
  });

  it.each([
    ["relative", "project", /`project` to be an absolute path/],
    [at("none"), "project", /`project` to be a folder that exists.*ENOENT/],
    [at("file"), "project", /`project` to be a folder that exists.*it is a file/],
    [1, "project", /`project`/],
    [null, "project", /`project`/],
    [`${top}\0`, "project", /`project`/],
    ["relative", "additional", /`additionalFolders\[1\]` to be an absolute path/],
    [{ path: at("none") }, "additional", /`additionalFolders\[1\]`.*ENOENT/],
  ])("refuses %j as %s", (folder, where, message) => {
    const wrong = folder as string;
    const call = () =>
      where === "project" ? projectFolders(wrong, []) : projectFolders(at("a"), [at("c"), wrong]);
    expect(call).toThrow(expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID/) }));
    expect(call).toThrow(message);
  });
});
