import { describe, expect, it } from "vitest";

import { parseEnvironmentPolicy } from "../../../lib/cli/values.js";

const parse = (text: string) => parseEnvironmentPolicy(text, { PATH: "/bin", clear: "1" });

describe("parseEnvironmentPolicy", () => {
  it.each(["scrub", "inherit", "clean"])("knows %s", (word) => {
    expect(parse(word)).toEqual({ policy: word });
  });

  it.each([
    ["PATH", ["PATH"]],
    ["HOME", ["HOME"]],
    ["PATH,HOME", ["PATH", "HOME"]],
    ["clear", ["clear"]],
    ["nvm_dir,clear", ["nvm_dir", "clear"]],
  ])("takes %s for names", (text, policy) => {
    expect(parse(text)).toEqual({ policy });
  });

  it.each([
    ["scrubb", /did you mean scrub\?/],
    ["Scrub", /did you mean scrub\?/],
    ["inherits", /did you mean inherit\?/],
    ["none", /no variable none is set here/],
    ["PATH,scrub", /names only in a list/],
    ["", /scrub, inherit, clean/],
    ["A,,B", /comma list/],
    ["A=1", /comma list/],
  ])("refuses %j", (text, expected) => {
    expect(parse(text)).toEqual({ expected: expect.stringMatching(expected) });
  });
});
