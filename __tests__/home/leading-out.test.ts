/** Links of the system that lead out of what a sandbox shows. */

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { HostLook } from "../../lib/home/host-look.js";
import { leadingOut, pathsOf, systemLinks } from "../../lib/home/leading-out.js";

let root: string;
const at = (path: string) => join(root, path);

function file(path: string, text = "x"): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
function link(path: string, target: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  symlinkSync(target, at(path));
}

/** What is shown for these links where etc and usr are bound, relative to the root. */
function shown(files: string[], directories: string[] = [], taken: string[] = []): string[] {
  const search = {
    files: files.map(at),
    directories: directories.map(at),
    bound: [at("etc"), at("usr")],
    taken: taken.map(at),
  };
  return leadingOut(search, new HostLook()).map(({ source, target }) => {
    const [from, to] = [source, target].map((path) => path.slice(root.length + 1));
    return from === to ? `${from}` : `${from} at ${to}`;
  });
}

beforeEach(() => {
  root = realpathSync(mkdtempSync("/var/tmp/native-runner-"));
  file("usr/zone");
  file("run/resolve/stub");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("a file is shown where its link leaves what is bound", () => {
  test("by a relative link", () => {
    link("etc/resolv.conf", "../run/resolve/stub");
    expect(shown(["etc/resolv.conf"])).toEqual(["run/resolve/stub"]);
  });

  test("by an absolute one", () => {
    link("etc/resolv.conf", at("run/resolve/stub"));
    expect(shown(["etc/resolv.conf"])).toEqual(["run/resolve/stub"]);
  });

  test("by a link to a link outside, which is not there inside", () => {
    link("run/current", "resolve/stub");
    link("etc/resolv.conf", "../run/current");
    expect(shown(["etc/resolv.conf"])).toEqual(["run/resolve/stub at run/current"]);
  });

  test("by a link of a directory above it", () => {
    file("store/etc/certs/bundle");
    link("etc/static", at("store/etc"));
    link("etc/bundle", "static/certs/bundle");
    expect(shown(["etc/bundle"])).toEqual(["store/etc/certs/bundle"]);
  });

  test("once for two links", () => {
    link("etc/a", "../run/resolve/stub");
    link("etc/b", "../run/resolve/stub");
    expect(shown(["etc/a", "etc/b"])).toEqual(["run/resolve/stub"]);
  });
});

test("a directory is shown where one may be", () => {
  file("var/certs/one.pem");
  link("etc/certs", "../var/certs");
  expect(shown(["etc/certs"])).toEqual([]);
  expect(shown(["etc/certs/one.pem"], ["etc/certs"])).toEqual(["var/certs"]);
});

test("nothing is shown that is there already, missing, or the sandbox's own", () => {
  file("etc/plain");
  link("etc/time", "../usr/zone");
  link("etc/dangling", "../run/nothing");
  link("etc/round", "round");
  link("etc/resolv.conf", "../run/resolve/stub");
  expect(shown(["etc/plain", "etc/time", "etc/dangling", "etc/round", "opt/other"])).toEqual([]);
  expect(shown(["etc/resolv.conf"], [], ["run"])).toEqual([]);
  expect(shown(["etc/resolv.conf"])).toHaveLength(1);
});

test("a home is not reached by a link", () => {
  file("home/ada/.hosts");
  link("etc/hosts", "../home/ada/.hosts");
  link("run/hosts", "../home/ada/.hosts");
  link("etc/hosts2", "../run/hosts");
  expect(shown(["etc/hosts", "etc/hosts2"])).toEqual([
    "home/ada/.hosts",
    "home/ada/.hosts at run/hosts",
  ]);
  expect(shown(["etc/hosts", "etc/hosts2"], [], ["home/ada"])).toEqual([]);
});

test("a link that others could have made is not followed", () => {
  link("etc/resolv.conf", "../run/resolve/stub");
  chmodSync(at("etc"), 0o777);
  expect(shown(["etc/resolv.conf"])).toEqual([]);
});

test("sockets and devices are not shown", () => {
  link("etc/resolv.conf", "/dev/null");
  const search = { files: [at("etc/resolv.conf")], directories: [], bound: [at("etc")], taken: [] };
  expect(leadingOut(search, new HostLook())).toEqual([]);
});

test("a change is noticed by the link's target, and by the directories of files", () => {
  file("etc/plain");
  link("etc/resolv.conf", "../run/resolve/stub");
  const search = {
    files: ["etc/plain", "etc/resolv.conf", "etc/none/deeper/x"].map(at),
    directories: [at("usr/zone")],
    bound: [],
    taken: [],
  };
  expect(pathsOf(search, new HostLook()).sort()).toEqual(["etc", "etc/resolv.conf", "usr"].map(at));
});

test("the resolver's file is one of them with the host's network only", () => {
  expect(systemLinks(true).files).toContain("/etc/resolv.conf");
  expect(systemLinks(false).files).not.toContain("/etc/resolv.conf");
});
