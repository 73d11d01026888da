import { expect, test } from "vitest";

import { nearest } from "../lib/fields.js";

const kNames = [
  "argv",
  "allowWriteWorkspace",
  "network",
  "readOnly",
  "required",
  "memoryBytes",
  "maxProcesses",
  "limits.timeoutMs",
  "limits.memoryBytes",
];

// As in native/tests/policy/text/nearest_name_test.cpp: the two say the same.
test.each([
  ["allowWriteWorkspce", "allowWriteWorkspace"],
  ["netwrok", "network"],
  ["require", "required"],
  ["arg", "argv"],
  ["readonly", "readOnly"],
  ["allow_write_workspace", "allowWriteWorkspace"],
  ["memory", "memoryBytes"],
  ["processes", "maxProcesses"],
  ["networkMode", "network"],
  ["timeoutMs", "limits.timeoutMs"],
  ["memoryBytes", "memoryBytes"],
  ["colour", undefined],
  ["xy", undefined],
  ["", undefined],
  ["n".repeat(65), undefined],
])("%j is meant to be %j", (name, meant) => {
  expect(nearest(name, kNames)).toBe(meant);
});

test("of two that are as near, the first", () => {
  expect(nearest("roBindz", ["roBind", "roBinds"])).toBe("roBind");
  expect(nearest("roBinds", ["roBind", "roBinds"])).toBe("roBinds");
  expect(nearest("network", [])).toBeUndefined();
});
