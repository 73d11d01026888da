/** What a release is looked at for, as far as that is a question of texts and bytes. */

import { expect, test } from "vitest";

import { unlicensed } from "../../scripts/release/bill.mjs";
import { placesIn } from "../../scripts/release/binaries.mjs";
import { versionComplaints } from "../../scripts/release/version.mjs";

const lock = { version: "1.2.3", packages: { "": { version: "1.2.3" } } };
const changelog =
  "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-25\n\n### Added\n\n- all\n";

test("a version that all agree on, with its part of the changelog, is nothing to complain of", () => {
  expect(versionComplaints({ version: "1.2.3", lock, changelog })).toEqual([]);
});

test.each([
  ["the lock file's is another", { lock: { ...lock, version: "1.2.2" } }, /package-lock.json has/],
  ["the lock file's root is another", { lock: { version: "1.2.3", packages: {} } }, /package-lock/],
  [
    "the changelog has no part",
    { changelog: "## [Unreleased]\n\n## [1.2.2] - 2026-01-01\n" },
    /no "##/,
  ],
  ["a dot is no wildcard", { changelog: "## [1x2x3] - 2026-11-25\n" }, /no "## \[1\.2\.3\]/],
  ["the part has no date", { changelog: "## [1.2.3]\n" }, /no "##/],
  [
    "something is left under Unreleased",
    { changelog: changelog.replace("[Unreleased]\n", "[Unreleased]\n\n- more\n") },
    /under Unreleased/,
  ],
])("%s: it says so", (_, differs, complaint) => {
  const complaints = versionComplaints({ version: "1.2.3", lock, changelog, ...differs });
  expect(complaints).toEqual([expect.stringMatching(complaint)]);
});

test("places of the building machine are found anywhere in a binary, and once", () => {
  const bytes = Buffer.from("\0ELF\0/work/here/a.cpp\0/work/here/b.cpp\0/usr/lib\0");
  expect(placesIn(bytes, ["/work/here", "/home/", "/"])).toEqual(["/work/here"]);
  expect(placesIn(bytes, ["/nowhere"])).toEqual([]);
});

const component = (name: string, licenses: object[]) => ({ name, version: "1.0.0", licenses });

test("licences are permissive, each of them", () => {
  const all = [
    component("a", [{ license: { id: "MIT" } }]),
    component("b", [{ expression: "GPL-3.0-or-later WITH GCC-exception-3.1" }]),
    component("c", [{ license: { id: "GPL-3.0-only" } }]),
    component("d", [{ license: { id: "MIT" } }, { license: { name: "Commons Clause" } }]),
    component("e", []),
  ];
  expect(unlicensed(all)).toEqual([
    "c 1.0.0: GPL-3.0-only",
    "d 1.0.0: MIT, Commons Clause",
    "e 1.0.0: no licence",
  ]);
});
