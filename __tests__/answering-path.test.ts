/** Paths on file systems that do not answer: none of them is looked at. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { areStillSilent, findSilentMounts, isSilent } from "../lib/answering-path.js";
import { HostLook, stampOf } from "../lib/home/host-look.js";
import { fakeLookAt } from "./support/fake-addon.js";

/** The mount points that do not answer. */
let silent: string[] = [];
vi.mock(import("../lib/native.js"), async (importOriginal) => ({
  ...(await importOriginal()),
  loadAddon: () =>
    ({
      lookAt: fakeLookAt,
      silentMounts: () => silent,
      expectAnswer: (path: string) => {
        if (silent.includes(path))
          throw Object.assign(new Error(path), { code: "ERR_SANDBOX_SETUP" });
      },
    }) as never,
}));

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "native-runner-")));
  mkdirSync(join(base, "hung/bin"), { recursive: true });
  mkdirSync(join(base, "hung-up"));
  writeFileSync(join(base, "hung/bin/tool"), "#!/bin/sh\n");
  symlinkSync("hung", join(base, "link"));
  symlinkSync(join(base, "link/bin"), join(base, "chain"));
  symlinkSync("hung-up/../hung", join(base, "back"));
  symlinkSync("loop", join(base, "loop"));
  silent = [join(base, "hung")];
  findSilentMounts();
});
afterEach(() => {
  silent = [];
  findSilentMounts();
  rmSync(base, { recursive: true, force: true });
});

test.each([
  ["hung", true, true],
  ["hung/bin/missing", true, true],
  ["link", true, false],
  ["link/bin", true, true],
  ["chain", true, false],
  ["chain/tool", true, true],
  ["back", true, false],
  ["hung-up/../hung/bin", true, true],
  ["hung/..", true, true],
  ["hung-up", false, false],
  ["missing/link", false, false],
  ["loop", false, false],
  [".", false, false],
])("%s: a look waits: %s, at the entry itself: %s", (path, follows, itself) => {
  expect(isSilent(`${base}/${path}`)).toBe(follows);
  expect(isSilent(`${base}/${path}`, false)).toBe(itself);
});

test("what lies there is not there for the host's look, until it answers", () => {
  const seen = () => {
    const look = new HostLook();
    const chain = join(base, "chain");
    return [
      look.exists(join(base, "hung")),
      look.isDirectory(chain),
      look.names(chain),
      look.real(chain),
      look.firstLine(join(chain, "tool")),
      stampOf(chain) !== "",
    ];
  };
  const hidden = [false, false, [], undefined, "", false];
  expect(seen()).toEqual(hidden);
  expect(areStillSilent(silent)).toBe(true);
  const before = silent;
  silent = [];
  expect(seen()).toEqual(hidden);
  expect(areStillSilent(before)).toBe(false);
  expect(areStillSilent([])).toBe(true);
  findSilentMounts();
  expect(seen()).toEqual([true, true, ["tool"], join(base, "hung/bin"), "#!/bin/sh", true]);
});
