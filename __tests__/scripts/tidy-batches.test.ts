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
  const batches = batchesOf([...entries, other], 2);
  expect(batches.map((batch) => batch.map(({ file }) => file))).toEqual([
    ["/a.cpp", "/c.cpp"],
    ["/b.cpp"],
    ["/d.cpp"],
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
