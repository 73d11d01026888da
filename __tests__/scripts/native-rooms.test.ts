import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

import { filterOf, programsOf, suitesIn, suitesNear } from "../../scripts/dev/native-rooms.mjs";
import { kRoot } from "../support/run-tsc.js";

it.each([
  ["native/supervise/streams/feeder.cpp", ["supervise_tests", "workspace_tests"]],
  ["native/launcher/layers/files.h", ["launcher_tests", "supervise_tests"]],
  ["native/policy/text/path.cpp", ["policy_tests", "supervise_tests", "workspace_tests"]],
  ["native/workspace/tree/beneath.cpp", ["workspace_tests"]],
  ["native/tests/launcher/session_test.cpp", ["launcher_tests"]],
  ["native/tests/protocol/order_test.cpp", ["policy_tests"]],
  ["native/addon/module.cpp", []],
])("%s concerns %j", (file, programs) => {
  expect(programsOf(file)).toEqual(programs);
});

it("knows every room", () => {
  const rooms = readdirSync(join(kRoot, "native")).filter((room) =>
    existsSync(join(kRoot, "native", room, "CMakeLists.txt")),
  );
  expect(rooms).toContain("policy");
  const everything = ["policy_tests", "launcher_tests", "supervise_tests", "workspace_tests"];
  for (const room of rooms.filter((each) => !["tests", "protocol"].includes(each))) {
    expect(programsOf(`native/${room}/file.cpp`), room).not.toEqual(everything);
  }
  expect(programsOf("native/new-room/file.cpp")).toEqual(everything);
});

it("leaves alone what is no C++", () => {
  expect(programsOf("native/tests/notes.md")).toBeUndefined();
  expect(programsOf("lib/index.ts")).toBeUndefined();
  expect(programsOf("native/policy/CMakeLists.txt")).toContain("policy_tests");
});

it("finds the suites of a source", () => {
  const text = "TEST(Poll, A) {\n}\nTEST_F(RunTest, B) {}\nTEST_P(Modes, C) {}\nTEST(Poll, D) {}\n";
  expect(suitesIn(text)).toEqual(["Poll", "RunTest", "Modes"]);
  expect(filterOf(["Poll"])).toBe("Poll.*:*/Poll.*");
});

it("takes the tests of the folder that mirrors a file's", () => {
  const [feeder] = suitesIn(
    readFileSync(join(kRoot, "native/tests/supervise/streams/feeder_test.cpp"), "utf8"),
  );
  expect(feeder).toBeDefined();
  const near = suitesNear("native/supervise/streams/feeder.cpp");
  expect(near).toContain(feeder);
  expect(suitesNear("native/tests/supervise/streams/feeder_test.cpp")).toEqual([feeder]);
  expect(near.length).toBeGreaterThan(1);
  expect(suitesNear("native/no-such/file.cpp")).toEqual([]);
});
