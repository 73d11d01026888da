import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";

import { optionsOf, wantedOf, whyText } from "../../../lib/cli/why.js";
import type { Denial } from "../../../types/public.js";

const denial: Denial = {
  kind: "read",
  operation: "openat",
  path: "/srv/a",
  hostPath: "/srv/a",
  program: "cat",
  errno: "ENOENT",
  by: "bubblewrap",
  count: 1,
  grant: {
    option: "mounts",
    value: { hostPath: "/srv/a", mode: "ro" },
    cli: "--mount /srv/a:ro",
  },
};
const { grant: _, ...bare } = denial;
const refused: Denial = { ...bare, path: "/root/.ssh/id", notAdvised: "it holds keys" };
const inCode: Denial = {
  ...denial,
  grant: { option: "fsWriteDirs", value: "/srv/a", cli: "" },
};

/** Each is what a terminal, or a reader, could be deceived by. */
const kHostile = [
  ["an escape sequence", "/x\u001b[2J", "/x^[[2J"],
  ["a new line", "/x\n--mount /:rw", "/x\\n--mount /:rw"],
  ["a carriage return", "/x\r/y", "/x^M/y"],
  ["another writing direction", "/x\u202egnp", "/x\\u202egnp"],
  ["an isolate", "/x\u2066y", "/x\\u2066y"],
  ["a C1 control", "/x\u009b2J", "/x\\u009b2J"],
] as const;

describe("what was wanted", () => {
  it.each([
    [denial, "read /srv/a"],
    [
      { ...bare, path: undefined, kind: "connect", host: "a.test", port: 443 },
      "connect a.test port 443",
    ],
    [{ ...bare, path: undefined, kind: "resolve", host: "a.test" }, "resolve a.test"],
    [{ ...bare, path: undefined, kind: "other", operation: "maxOpenFiles" }, "maxOpenFiles"],
  ])("%j", (given, said) => {
    expect(wantedOf(given as Denial)).toBe(said);
  });
});

describe("the table", () => {
  it("says that nothing was denied", () => {
    expect(whyText([], 0, false)).toBe("nothing was denied");
  });

  it("has what, how, by whom, and the grant; below it the options to paste", () => {
    const text = whyText([{ ...denial, count: 3 }, denial, refused, inCode], 2, false);
    for (const part of [
      "read /srv/a",
      "openat by cat, ENOENT, 3 times",
      "bubblewrap",
      "no grant: it holds keys",
      'option fsWriteDirs: "/srv/a"',
      "and 2 more that are not shown",
      'The command line has no option for:\n  fsWriteDirs: "/srv/a"',
    ]) {
      expect(text).toContain(part);
    }
    expect(text.split("With these options it gets further:")[1]).toMatch(
      /^\n {2}--mount \/srv\/a:ro\n/,
    );
  });

  it.each([40, 60, 80, 120, 400])("fits a terminal of %i columns", (columns) => {
    const long: Denial = { ...denial, path: `/${"long/".repeat(60)}` };
    const [table = ""] = whyText([long], 0, false, columns).split("\n\n");
    const width = Math.min(Math.max(columns, 60), 120);
    for (const line of table.split("\n")) expect([...line].length).toBeLessThanOrEqual(width);
  });

  it("has colours only where they are wanted", () => {
    const plain = whyText([denial, refused], 0, false);
    const colored = whyText([denial, refused], 0, true);
    expect(stripVTControlCharacters(plain)).toBe(plain);
    expect(colored).not.toBe(plain);
    expect(stripVTControlCharacters(colored)).toBe(plain);
  });

  it.each(kHostile)("shows %s as what it is", (_, path, shown) => {
    const cli = `--mount '${path}:ro'`;
    const grant = {
      option: "mounts" as const,
      value: { hostPath: path, mode: "ro" as const },
      cli,
    };
    const inCodeToo: Denial = { ...inCode, path, grant: { ...grant, cli: "" } };
    const text = whyText(
      [{ ...denial, path, program: path.slice(0, 15), grant }, inCodeToo],
      0,
      false,
      120,
    );
    expect(text).toContain(`read ${shown}`);
    expect(text).toContain(`  --mount '${shown}:ro'`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });
});

describe("the options", () => {
  it("are each there once, in the order of the denials, without those that can't be said", () => {
    const second: Denial = {
      ...denial,
      grant: { option: "limits.maxOpenFiles", value: 16, cli: "--max-open-files 16" },
    };
    expect(optionsOf([second, denial, denial, refused, inCode])).toEqual([
      "--max-open-files 16",
      "--mount /srv/a:ro",
    ]);
  });
});
