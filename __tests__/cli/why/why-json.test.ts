import { expect, it } from "vitest";

import { whyJson } from "../../../lib/cli/why.js";
import type { Denial } from "../../../types/public.js";

const denial: Denial = {
  kind: "read",
  operation: "openat",
  path: "/srv/\u001b[2J\n\u202e",
  errno: "ENOENT",
  by: "bubblewrap",
  count: 1,
  grant: { option: "mounts", value: { hostPath: "/srv/a", mode: "ro" }, cli: "--mount /srv/a:ro" },
};
const result = {
  exitCode: 1,
  outcome: { kind: "exited" as const },
  denials: [denial],
  denialsOmitted: 2,
  stdoutText: "not told",
};

it("has the denials to the letter, and the options to paste", () => {
  const { stdoutText: _, ...reported } = result;
  expect(whyJson(result)).toEqual({ ...reported, options: ["--mount /srv/a:ro"] });
  expect(JSON.parse(JSON.stringify(whyJson(result))).denials).toEqual([denial]);
});

it("has no control character as text: JSON escapes them", () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(JSON.stringify(whyJson(result))).not.toMatch(/[\u0000-\u001f]/);
});

it("has the second time in the first", () => {
  const again = { ...result, exitCode: 0, denials: [], denialsOmitted: 0 };
  expect(whyJson(result, again)).toMatchObject({
    exitCode: 1,
    again: { exitCode: 0, denials: [], options: [] },
  });
});
