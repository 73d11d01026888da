/** The check of the arrows between rooms: what is planted against them is refused, the rest not. */

import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const kRoot = fileURLToPath(new URL("../..", import.meta.url));
const kCheck = join(kRoot, "scripts/checks/includes.mjs");

let copy = "";
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "includes-"));
});
afterEach(() => rmSync(copy, { recursive: true, force: true }));

function copyRooms() {
  for (const room of ["native", "lib", "types"]) {
    cpSync(join(kRoot, room), join(copy, room), { recursive: true });
  }
}

function check(...directory: string[]): string[] {
  const { status, stderr } = spawnSync(process.execPath, [kCheck, ...directory], {
    encoding: "utf8",
  });
  const lines = stderr.split("\n").filter((line) => line !== "");
  expect(status).toBe(lines.length === 0 ? 0 : 1);
  return lines;
}

function plant(file: string, line: string) {
  mkdirSync(dirname(join(copy, file)), { recursive: true });
  appendFileSync(join(copy, file), `\n${line}\n`);
}

test("this tree keeps to the arrows", () => {
  expect(check()).toEqual([]);
});

const kAllowed: [file: string, line: string][] = [
  ["native/protocol/order.h", "#include <string_view>"],
  ["native/policy/options/request.h", '#include "policy/text/path.h"'],
  ["native/supervise/session/session.h", '#include "supervise/preparation/runtime.h"'],
  ["native/launcher/layers/files.h", '#include "launcher/kernel/calls.h"'],
  ["native/launcher/seccomp/seccomp.cpp", '#include "launcher/seccomp/program.inc"'],
  ["native/addon/values/js_error.h", "#include <napi.h>"],
  ["native/tests/launcher/new/some_test.cpp", '#include "supervise/os/child.h"'],
  ["lib/runtime/new-kind.ts", 'import { kGood } from "../runners/local.js";'],
  ["lib/fields.ts", 'import leven from "leven";'],
  ["lib/skills/guest/new.mts", 'import { readFileSync } from "node:fs";'],
];

test("what the table says is allowed", { timeout: 30_000 }, () => {
  copyRooms();
  for (const [file, line] of kAllowed) plant(file, line);
  expect(check(copy)).toEqual([]);
});

const kRefused: [file: string, line: string, why: string][] = [
  ["native/protocol/order.h", '#include "policy/result.h"', "must not use"],
  ["native/policy/text/path.h", '#include "policy/options/limits.h"', "must not use"],
  ["native/policy/options/request.h", '#include "supervise/os/child.h"', "must not use"],
  ["native/policy/options/request.h", "#  include <sys/stat.h>", "must not use"],
  ["native/supervise/os/child.h", '#include "supervise/streams/output.h"', "must not use"],
  ["native/supervise/run/run.h", '#include "supervise/session/session.h"', "must not use"],
  ["native/supervise/run/run.h", '#include "supervise/runtimes/local_runtime.h"', "must not use"],
  ["native/supervise/supervisor.h", '#include "supervise/session/session.h"', "must not use"],
  ["native/supervise/host/host.h", "#include <napi.h>", "must not use"],
  ["native/launcher/kernel/calls.h", '#include "launcher/order/control.h"', "must not use"],
  ["native/launcher/main.cpp", '#include "policy/result.h"', "must not use"],
  ["native/launcher/main.cpp", "#include <uv.h>", "must not use"],
  ["native/tests/policy/options/some_test.cpp", '#include "addon/module.h"', "must not use"],
  ["native/policy/options/request.h", '#include "limits.h"', "in no room"],
  ["native/policy/new_folder/file.h", "#include <string>", "has no row"],
  ["native/supervise/new_file.h", "#include <string>", "has no row"],
  ["lib/metrics/run-meter.ts", 'import { x } from "../runners/session.js";', "must not use"],
  ["lib/exec-result.ts", 'export * from "./index.js";', "must not use"],
  [
    "lib/shell-policy/walk.ts",
    'import type {\n  A,\n} from "../runtime/runtime.js";',
    "must not use",
  ],
  ["lib/skills/guest/new.mts", 'const x = await import("../answer.js");', "must not use"],
  ["lib/runners/lane.ts", 'import * as v from "valibot";', "must not use"],
  ["types/run.d.ts", 'import type { X } from "../lib/index.js";', "must not use"],
  ["lib/new-room/file.ts", "export {};", "has no row"],
];

test("what it does not say is refused, each with its place and reason", { timeout: 30_000 }, () => {
  copyRooms();
  for (const [file, line] of kRefused) plant(file, line);
  const found = check(copy);
  for (const [file, line, why] of kRefused) {
    const used = why === "has no row" ? "" : line.replace(/.*["<]([^">]+)[">].*/s, "$1");
    const reported = found.filter(
      (text) => text.startsWith(`${file}:`) && text.includes(used) && text.includes(why),
    );
    expect(reported, `${file} with ${line}`).toHaveLength(1);
  }
  expect(found).toHaveLength(kRefused.length + 1);
  expect(found.at(-1)).toContain(`${kRefused.length} against the arrows`);
});

test("a directory without rooms is an error, not a pass", () => {
  const { status, stderr } = spawnSync(process.execPath, [kCheck, copy], { encoding: "utf8" });
  expect(status).not.toBe(0);
  expect(stderr).toContain("ENOENT");
});
