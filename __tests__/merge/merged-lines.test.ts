import { describe, expect, it } from "vitest";

import { mergedLines } from "../../lib/merge/thread/merged-lines.js";

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const merged = (
  base: string,
  ours: string,
  theirs: string,
  prefers: "ours" | "theirs" | "markers" = "markers",
) => {
  const texts = { base: bytes(base), ours: bytes(ours), theirs: bytes(theirs) };
  const answer = mergedLines({ ...texts, prefers, name: "b1" });
  return [Buffer.from(answer.merged).toString(), answer.conflictAt];
};

describe("mergedLines", () => {
  it("takes the lines of both where they are apart", () => {
    expect(merged("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", "one\n2\n3\n4\n5\n")).toEqual([
      "one\n2\n3\n4\nfive\n",
      0,
    ]);
  });

  it("takes what both have made the same once", () => {
    expect(merged("1\n2\n3\n", "1\ntwo\n3\n", "1\ntwo\n3\n")).toEqual(["1\ntwo\n3\n", 0]);
    expect(merged("", "new\n", "new\n")).toEqual(["new\n", 0]);
  });

  it("puts both between git's marks, with the first line, or takes one", () => {
    const [base, ours, theirs] = ["1\n2\n3\n", "1\nours\n3\n", "1\ntheirs\n3\n"];
    const marked = "1\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> b1\n3\n";
    expect(merged(base, ours, theirs)).toEqual([marked, 2]);
    expect(merged(base, ours, theirs, "ours")).toEqual([ours, 2]);
    expect(merged(base, ours, theirs, "theirs")).toEqual([theirs, 2]);
  });

  it("ends lines of a conflict as the text does", () => {
    expect(merged("a\r\n", "b\r\n", "c\r\n")[0]).toBe(
      "<<<<<<< ours\r\nb\r\n=======\r\nc\r\n>>>>>>> b1\r\n",
    );
    expect(merged("a", "b", "c")[0]).toBe("<<<<<<< ours\nb\n=======\nc\n>>>>>>> b1\n");
    expect(merged("a\n", "", "c\n")[0]).toBe("<<<<<<< ours\n=======\nc\n>>>>>>> b1\n");
  });

  it("keeps the last line as it is, and bytes that are no UTF-8", () => {
    expect(merged("1\n2\n3", "one\n2\n3", "1\n2\n3\n4")).toEqual(["one\n2\n3\n4", 0]);
    const odd = new Uint8Array([0xff, 0x0a, 0xfe, 0x0a]);
    const more = new Uint8Array([...odd, 0xfd]);
    const { merged: kept } = mergedLines({
      ...{ base: odd, ours: odd, theirs: more },
      ...{ prefers: "markers", name: "b1" },
    });
    expect([...kept]).toEqual([...more]);
  });
});
