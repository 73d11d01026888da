// Which C++ tests an edited file below native/ concerns, the nearest first.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { inRoot } from "../lib/project.mjs";

/** What tests a room: its own program first, then those that run it too. */
const kProgramsOfRoom = {
  protocol: ["policy_tests", "launcher_tests", "supervise_tests"],
  policy: ["policy_tests", "supervise_tests", "workspace_tests"],
  launcher: ["launcher_tests", "supervise_tests"],
  supervise: ["supervise_tests", "workspace_tests"],
  workspace: ["workspace_tests"],
  addon: [], // integration tests only
};

const kProgramOfTests = {
  protocol: "policy_tests",
  policy: "policy_tests",
  launcher: "launcher_tests",
  supervise: "supervise_tests",
  workspace: "workspace_tests",
};

const kEveryProgram = [...new Set(Object.values(kProgramOfTests))];

/** Programs for a path relative to the checkout; undefined where it concerns no C++ code. */
export function programsOf(file) {
  const [native, room, inTests] = file.split("/");
  if (native !== "native" || !/\.(cpp|h)$|\/CMakeLists\.txt$/.test(file)) return undefined;
  if (room !== "tests") return kProgramsOfRoom[room] ?? kEveryProgram;
  const program = kProgramOfTests[inTests];
  return program === undefined ? kEveryProgram : [program];
}

/** The test suites that a source of tests has. */
export const suitesIn = (text) => [
  ...new Set([...text.matchAll(/^TEST(?:_F|_P)?\((\w+)/gm)].map(([, suite]) => suite)),
];

/** Those of the tests beside a file: its own if it is one, else of the folder that mirrors its. */
export function suitesNear(file) {
  const directory = path.dirname(file).replace(/^native\/(?!tests\/)/, "native/tests/");
  const sources = file.endsWith("_test.cpp")
    ? [inRoot(file)]
    : existsSync(inRoot(directory))
      ? readdirSync(inRoot(directory))
          .filter((name) => name.endsWith("_test.cpp"))
          .map((name) => inRoot(directory, name))
      : [];
  const existing = sources.filter((source) => existsSync(source));
  return existing.flatMap((source) => suitesIn(readFileSync(source, "utf8")));
}

/** GoogleTest's filter for some suites, also where they are instantiated with parameters. */
export const filterOf = (suites) =>
  suites.flatMap((name) => [`${name}.*`, `*/${name}.*`]).join(":");
