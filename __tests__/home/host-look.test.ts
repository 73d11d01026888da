/** Looks at the host's files, and what they say. */

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { HostLook, readToolDirectories, stampOf } from "../../lib/home/host-look.js";
import { loadAddon } from "../../lib/native.js";
import { below, covers } from "../../lib/paths.js";

let base: string;

beforeEach(() => {
  // Not in a directory that others can write to, other than one with the sticky bit.
  base = realpathSync(mkdtempSync("/var/tmp/native-runner-"));
  mkdirSync(join(base, "real/bin"), { recursive: true });
  writeFileSync(join(base, "real/bin/tool"), "#!/bin/sh -e\necho\n");
  symlinkSync("real", join(base, "link"));
  symlinkSync("tool", join(base, "real/bin/alias"));
  symlinkSync("nowhere", join(base, "dangling"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

test.each([
  ["/a", "/a", true],
  ["/a", "/a/b", true],
  ["/a", "/ab", false],
  ["/a/b", "/a", false],
  ["/", "/a", true],
])("%s covers %s: %s", (parent, path, out) => {
  expect(covers(parent, path)).toBe(out);
});

test("a path below another one", () => {
  expect([below("/a", "b/c"), below("/", "b"), below("/a", "")]).toEqual(["/a/b/c", "/b", "/a"]);
});

test("links are followed, step by step and to the end", () => {
  const look = new HostLook();
  const alias = join(base, "link/bin/alias");
  expect(look.linkText(alias)).toBe("tool");
  expect(look.real(alias)).toBe(join(base, "real/bin/tool"));
  expect(look.status(alias)?.isFile()).toBe(true);
  expect(look.firstLine(alias)).toBe("#!/bin/sh -e");
  expect(look.linkText(join(base, "real"))).toBeUndefined();
  expect(look.isDirectory(join(base, "link"))).toBe(true);
  expect([...look.names(join(base, "link/bin"))].sort()).toEqual(["alias", "tool"]);
});

test("a directory of programs: its links step by step, its scripts' interpreters, those of environments", () => {
  writeFileSync(join(base, "real/bin/other"), "#! /usr/bin/env node\n");
  writeFileSync(join(base, "real/bin/relative"), "#!python\n");
  symlinkSync("../../link/bin/alias", join(base, "real/bin/far"));
  mkdirSync(join(base, "venv/bin"), { recursive: true });
  writeFileSync(join(base, "venv/pyvenv.cfg"), "");
  writeFileSync(join(base, "venv/bin/black"), "#!/opt/python\n");
  symlinkSync(join(base, "venv/bin/black"), join(base, "real/bin/black"));
  const at = (...names: string[]) => names.map((name) => join(base, name));
  const [path = "", missing = ""] = at("link/bin", "none");
  const read = (readsScripts: boolean) => {
    const found = readToolDirectories([
      { path, readsScripts },
      { path: missing, readsScripts },
    ]);
    expect(found.get(missing)).toEqual({ links: [], interpreters: [] });
    const { links, interpreters } = found.get(path) ?? { links: [], interpreters: [] };
    links.sort((one, other) => ((one.steps[0] ?? "") < (other.steps[0] ?? "") ? -1 : 1));
    return { links, interpreters };
  };
  const links = [
    { steps: at("link/bin/alias", "link/bin/tool") },
    { steps: at("link/bin/black", "venv/bin/black"), interpreter: "/opt/python" },
    { steps: at("link/bin/far", "link/bin/alias", "link/bin/tool") },
  ];
  expect(read(true)).toEqual({ links, interpreters: ["/bin/sh", "/usr/bin/env"] });
  expect(read(false)).toEqual({ links, interpreters: [] });
});

test("what is not there is nothing", () => {
  const look = new HostLook();
  for (const path of [
    join(base, "dangling"),
    join(base, "none/x"),
    join(base, "real/bin/tool/x"),
  ]) {
    expect([look.exists(path), look.real(path), look.stamp(path)]).toEqual([false, undefined, ""]);
    expect(look.names(path)).toEqual([]);
  }
});

test("a stamp is the one of the first look", () => {
  const look = new HostLook();
  const before = look.stamp(join(base, "real"));
  expect(before).toBe(stampOf(join(base, "real")));
  rmSync(join(base, "real"), { recursive: true });
  expect(look.stamp(join(base, "real"))).toBe(before);
  expect(stampOf(join(base, "real"))).toBe("");
});

test("what others can write to is not safe, nor what lies in it", () => {
  const tool = join(base, "real/bin/tool");
  expect(new HostLook().unsafe(tool)).toBeUndefined();
  chmodSync(join(base, "real"), 0o777);
  expect(new HostLook().unsafe(tool)).toBe(`others can write to ${join(base, "real")}`);
  chmodSync(join(base, "real"), 0o1777);
  expect(new HostLook().unsafe(tool)).toBeUndefined();
});

test("each path is looked at once", () => {
  const looked = vi.spyOn(loadAddon(), "lookAt");
  try {
    const look = new HostLook();
    for (let time = 0; time < 3; time += 1) {
      for (const name of ["tool", "alias", "none"]) {
        look.real(join(base, "real/bin", name));
        look.unsafe(join(base, "real/bin", name));
        look.exists(join(base, "real/bin", name));
      }
    }
    const looks = looked.mock.calls.map(([path, follows]) => `${path} ${follows}`);
    expect(looks).toContain(`${join(base, "real/bin/tool")} false`);
    expect(new Set(looks).size).toBe(looks.length);
  } finally {
    looked.mockRestore();
  }
});
