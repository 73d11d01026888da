import { expect, it } from "vitest";

import { SetupLine } from "../../lib/cli/reason.js";

/** What comes through, by the time of the last chunk and in the end. */
function through(chunks: readonly string[], reason?: string) {
  let out = "";
  const line = new SetupLine((chunk) => {
    out += Buffer.from(chunk).toString();
  });
  for (const chunk of chunks) line.add(Buffer.from(chunk));
  const before = out;
  line.end(reason);
  return { before, out };
}

it("keeps back the line of a set-up that failed, and what stood before it goes through", () => {
  expect(through(["native-runner: no /x\n"], "no /x").out).toBe("");
  expect(through(["bwrap: warning\nnative-runner: no /x\n"], "no /x").out).toBe("bwrap: warning\n");
});

it("lets a command say the same", () => {
  const said = ["native-runner: no /x\n"];
  expect(through(said)).toEqual({ before: "", out: "native-runner: no /x\n" });
  expect(through([...said, "more\n"], "other").out).toBe("native-runner: no /x\nmore\n");
  expect(through(said, "another reason").out).toBe("native-runner: no /x\n");
});

it("holds nothing else up", () => {
  expect(through(["one\n", "two\n"]).before).toBe("one\ntwo\n");
  expect(through(["native-runner: a\n", "two\n"]).before).toBe("native-runner: a\ntwo\n");
});
