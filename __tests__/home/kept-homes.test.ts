/** Homes that are directories of the host. */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { homesText } from "../../lib/cli/home.js";
import {
  type HomeDirectory,
  type HomePlace,
  homeDirectoryOf,
  putGitConfig,
} from "../../lib/home/home-directory.js";
import { keepHome, keptHomes, keptHomesDirectory, putAside } from "../../lib/home/kept-homes.js";

let base: string;
let workspace: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "native-runner-")));
  workspace = join(base, "project");
  for (const each of ["project", "user", "chosen", "transaction"]) mkdirSync(join(base, each));
  vi.stubEnv("XDG_STATE_HOME", join(base, "state"));
  vi.stubEnv("HOME", join(base, "user"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true, force: true });
});

function homeOf(place: Partial<HomePlace>): HomeDirectory | undefined {
  const usual = { home: "kept", workspace: [workspace], ofTransaction: undefined } as const;
  return homeDirectoryOf({ ...usual, ...place });
}

const failureOf = (home: HomeDirectory | undefined) =>
  home !== undefined && "failure" in home ? home.failure : "none";

describe("a kept home", () => {
  test("is the same for a workspace, also by a link, and another one for another", () => {
    symlinkSync("project", join(base, "link"));
    const first = homeOf({});
    expect(first).toMatchObject({ directory: expect.stringContaining(join(base, "state")) });
    expect(homeOf({ workspace: [join(base, "link")] })).toEqual(first);
    mkdirSync(join(base, "other"));
    expect(homeOf({ workspace: [join(base, "other")] })).not.toEqual(first);
    expect(keptHomes()).toHaveLength(2);
  });

  test("can be looked into by its user only", () => {
    const { directory } = keepHome(workspace);
    for (const each of [directory, join(directory, ".."), keptHomesDirectory()]) {
      expect(lstatSync(each).mode & 0o777).toBe(0o700);
    }
  });

  test("is refused where others could have put something", () => {
    expect(failureOf(homeOf({}))).toBe("none");
    const { directory } = keepHome(workspace);
    rmSync(directory, { recursive: true });
    symlinkSync(join(base, "user"), directory);
    expect(failureOf(homeOf({}))).toMatch(/is no directory/);
  });

  test("needs a workspace that is there", () => {
    expect(failureOf(homeOf({ workspace: [join(base, "gone")] }))).toMatch(/ENOENT/);
    expect(existsSync(keptHomesDirectory())).toBe(false);
  });

  test("does not lie in the workspace", () => {
    vi.stubEnv("XDG_STATE_HOME", join(workspace, "state"));
    expect(failureOf(homeOf({}))).toMatch(/must not lie in each other/);
  });

  test("is gone at once when it is put aside, and made anew", () => {
    const kept = keepHome(workspace);
    writeFileSync(join(kept.directory, "x"), "");
    const [left] = putAside(kept);
    expect(keptHomes()).toEqual([]);
    expect(readdirSync(join(keptHomesDirectory(), left as string, "home"))).toEqual(["x"]);
    expect(readdirSync(keepHome(workspace).directory)).toEqual([]);
  });

  test("is listed, the last used one first", () => {
    expect(homesText([], 0, false)).toBe("no homes\n");
    const { id, directory } = keepHome(workspace);
    const usedAt = new Date(0);
    const text = homesText([{ id, directory, workspace: "/a\nb", usedAt }], 3_600_000, false);
    expect(text).toBe(`ID                USED     WORKSPACE\n${id}  1 h ago  /a\\nb\n`);
  });
});

describe("a home of the caller's choice", () => {
  const chosen = (name: string) => homeOf({ home: { directory: join(base, name) } });

  test("is the real directory", () => {
    symlinkSync("chosen", join(base, "link"));
    expect(chosen("link")).toEqual({ directory: join(base, "chosen") });
  });

  test.each([
    ["missing", /ENOENT/],
    ["user", /holds the user's own home/],
    [".", /holds the user's own home/],
    ["project", /must not lie in each other/],
  ])("is refused: %s", (name, why) => {
    expect(failureOf(chosen(name))).toMatch(why);
  });

  test("is refused within the workspace, and not beside it", () => {
    mkdirSync(join(workspace, "home"));
    mkdirSync(join(base, "project-home"));
    expect(failureOf(chosen("project/home"))).toMatch(/must not lie in each other/);
    expect(failureOf(chosen("project-home"))).toBe("none");
  });
});

describe("a transaction's home", () => {
  test("is made in its directory, for a private home only", () => {
    const ofTransaction = join(base, "transaction/home");
    expect(homeOf({ home: "none", ofTransaction })).toBeUndefined();
    expect(existsSync(ofTransaction)).toBe(false);
    for (let time = 0; time < 2; time += 1) {
      expect(homeOf({ home: "private", ofTransaction })).toEqual({ directory: ofTransaction });
    }
    expect(statSync(ofTransaction).mode & 0o777).toBe(0o700);
  });

  test("does not bring the directory of a discarded one back", () => {
    const ofTransaction = join(base, "discarded/home");
    expect(failureOf(homeOf({ home: "private", ofTransaction }))).toMatch(/ENOENT/);
    expect(existsSync(join(base, "discarded"))).toBe(false);
  });

  test("there is none without one", () => {
    expect(homeOf({ home: "private" })).toBeUndefined();
  });
});

describe("~/.gitconfig in a home on the host", () => {
  const place = () => ({ directory: join(base, "chosen"), note: join(base, "note") });
  const file = () => join(base, "chosen/.gitconfig");

  test("is renewed until a command has changed it", () => {
    putGitConfig(place(), "[user]\n\tname = A\n");
    putGitConfig(place(), "[user]\n\tname = B\n");
    expect(readFileSync(file(), "utf8")).toBe("[user]\n\tname = B\n");
    writeFileSync(file(), "[user]\n\tname = C\n");
    putGitConfig(place(), "[user]\n\tname = D\n");
    expect(readFileSync(file(), "utf8")).toBe("[user]\n\tname = C\n");
  });

  test("is written once where nothing is noted", () => {
    const { directory } = place();
    putGitConfig({ directory }, "one");
    putGitConfig({ directory }, "two");
    expect(readFileSync(file(), "utf8")).toBe("one");
  });

  test("is not written through a link", () => {
    const target = join(base, "user/.bashrc");
    symlinkSync("../user/.bashrc", file());
    putGitConfig(place(), "one");
    expect(existsSync(target)).toBe(false);
    writeFileSync(target, "one");
    writeFileSync(join(base, "note"), "one");
    putGitConfig(place(), "two");
    expect(readFileSync(target, "utf8")).toBe("one");
  });

  test("is left alone without an identity", () => {
    putGitConfig(place(), "");
    expect(existsSync(file())).toBe(false);
  });
});
