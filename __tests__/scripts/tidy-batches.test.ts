import { expect, it } from "vitest";

import { batchesOf, includesSource, sourceOf, splits } from "../../scripts/lib/tidy-batches.mjs";

const entry = (file: string, flags = "-O3") => ({
  directory: "/build",
  file,
  command: `c++ ${flags} -o objects${file}.o -c ${file}`,
});

it("puts files together that are compiled alike, each into one batch", () => {
  const entries = ["/a.cpp", "/b.cpp", "/c.cpp"].map((file) => entry(file));
  const other = entry("/d.cpp", "-O2");
  const batches = batchesOf([...entries, other], { size: 2 });
  expect(batches.map((batch) => batch.map(({ file }) => file))).toEqual([
    ["/a.cpp", "/c.cpp"],
    ["/b.cpp"],
    ["/d.cpp"],
  ]);
});

it("keeps files apart that give the same name, and alone what gives a header's", () => {
  const texts: Record<string, string> = {
    "/a.cpp": "constexpr int kMost = 1;\nint Read(int fd) {\n  int only = 2;\n}\n",
    "/b.cpp": "constexpr std::array<int, 2> kMost = {1, 2};\n",
    "/c.cpp": "bool Read(const Path& path) {\nvoid Other::Write() {\n",
    "/d.cpp": "void Another::Write() {\n  int only = 3;\n",
    "/e.cpp": "using Place = int;\n",
    "/f.cpp": 'extern "C" int raise(int);\n',
    "/g.cpp": "enum class Turn : int { kOne };\n#define MOST 1\n",
    "/h.cpp": "struct Turn {\n",
    "/i.cpp": "#define MOST 2\n",
  };
  const batches = batchesOf(
    Object.keys(texts).map((file) => entry(file)),
    { takenBy: () => new Set(["Place"]), textOf: (file) => texts[file] ?? "" },
  );
  expect(batches.map((batch) => batch.map(({ file }) => file).join(" "))).toEqual([
    "/a.cpp /d.cpp /g.cpp",
    "/b.cpp /c.cpp /h.cpp /i.cpp",
    "/e.cpp",
    "/f.cpp",
  ]);
});

it("makes a source that includes them", () => {
  expect(sourceOf([entry("/a.cpp"), entry("/b.cpp")])).toBe(
    '#include "/a.cpp"\n#include "/b.cpp"\n',
  );
});

it("tells what must be looked at in parts from what has findings", () => {
  expect(splits("a.cpp:1:1: error: redefinition of 'kTurns' [clang-diagnostic-error]")).toBe(true);
  expect(splits("a.cpp:1:1: error: invalid case style [readability-identifier-naming]")).toBe(
    false,
  );
});

it("sees a source that is included", () => {
  expect(includesSource('#include "policy/text/path.cpp"\n')).toBe(true);
  expect(includesSource('#include "policy/text/path.h"\n// x.cpp\n#include <string>\n')).toBe(
    false,
  );
});
