import { expect, test, vi } from "vitest";

import { askerOf, inAscii, kPresetNames, kPresets, networkOption } from "../../lib/network.js";

const value = (message: string) =>
  expect.objectContaining({ code: "ERR_INVALID_ARG_VALUE", message });
const type = (message: string) =>
  expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE", message });

/** What is thrown for a network; undefined where nothing is. */
function thrownFor(network: unknown): unknown {
  try {
    networkOption(network);
    return undefined;
  } catch (error) {
    return error;
  }
}

test.each(["allow", "deny", undefined, "maybe", 7, null, true, ["a"]])(
  "what is no object is left to the addon: %s",
  (network) => {
    expect(networkOption(network)).toEqual({ own: network, native: network });
  },
);

test("the addon gets the lists without presets, and the runner keeps what was given", () => {
  const network = {
    allow: ["a.test", "bücher.test:8443"],
    deny: ["*.b.test"],
    allowPrivate: ["straße.test", "10.0.0.0/8"],
    presets: ["pypi"],
  } as const;
  const { own, native } = networkOption(network);
  expect({ ...(own as object) }).toEqual(network);
  expect(native).toEqual({
    allow: ["a.test", "xn--bcher-kva.test:8443", "pypi.org:443", "files.pythonhosted.org:443"],
    deny: ["*.b.test"],
    allowPrivate: ["xn--strae-oqa.test", "10.0.0.0/8"],
    onRequest: undefined,
  });
});

test("it is read once: what is changed afterwards changes nothing", () => {
  const allow = ["a.test"];
  const network = { allow, presets: ["go" as const] };
  const { own, native } = networkOption(network);
  allow.push("evil.test");
  network.presets.length = 0;
  expect(native).toMatchObject({ allow: ["a.test", ...kPresets.go] });
  expect(own).toMatchObject({ allow: ["a.test"], presets: ["go"] });
  expect(Object.isFrozen(own)).toBe(true);
});

test("ports of the host are text for the addon, in the way they were written", () => {
  const { own, native } = networkOption({ hostPorts: [5432, "[::1]:6379"] });
  expect(native).toMatchObject({ allow: [], hostPorts: ["5432", "[::1]:6379"] });
  expect({ ...(own as object) }).toEqual({ hostPorts: [5432, "[::1]:6379"] });
});

test("presets or somebody to ask are enough", () => {
  expect(networkOption({ presets: [] }).native).toMatchObject({ allow: [] });
  expect(networkOption({ onRequest: () => "deny" }).native).toMatchObject({ allow: [] });
  expect(networkOption({ allow: [] }).native).toMatchObject({ allow: [] });
  expect(networkOption({ deny: ["a.test"] }).native).toMatchObject({ allow: undefined });
});

test.each([
  [{ alow: ["a"] }, value('Unknown field "alow" in `network`; did you mean `allow`?')],
  [
    { allow: [], onrequest: () => {} },
    value('Unknown field "onrequest" in `network`; did you mean `onRequest`?'),
  ],
  [
    { allow: [], hosts: [] },
    value(
      'Unknown field "hosts" in `network`; there are `allow`, `deny`, `allowPrivate`, `hostPorts`, `presets`, `onRequest`, `secrets`, `http`',
    ),
  ],
  [{ presets: "npm" }, type('Expected `network.presets` to be an array of presets, got "npm"')],
  [{ presets: ["go", 7] }, type("Expected `network.presets[1]` to be a string, got 7")],
  [
    { presets: ["nmp"] },
    value(
      'Expected `network.presets[0]` to be one of npm, pypi, github, debian, crates, go, got "nmp"; did you mean `npm`?',
    ),
  ],
  [
    { presets: ["toString"] },
    value(
      'Expected `network.presets[0]` to be one of npm, pypi, github, debian, crates, go, got "toString"',
    ),
  ],
])("refused here: %j", (network, error) => {
  expect(thrownFor(network)).toEqual(error);
});

test.each([
  ["a.test", "a.test"],
  ["A.TEST", "A.TEST"],
  ["*.bücher.test", "*.xn--bcher-kva.test"],
  ["bücher.test:8443", "xn--bcher-kva.test:8443"],
  ["BÜCHER。test", "xn--bcher-kva.test"],
  // As they are, so that the addon says what is wrong with them.
  ["bü%2ecom", "bü%2ecom"],
  ["bü\0.test", "bü\0.test"],
  ["bü cher.test", "bü cher.test"],
  ["http://bücher.test/", "http://bücher.test/"],
  ["bücher.test:https", "bücher.test:https"],
  ["*.*.bücher.test", "*.*.bücher.test"],
  ["user@bücher.test", "user@bücher.test"],
  ["0x7f.1", "0x7f.1"],
  [7, 7],
  ["１２７.0.0.1", "１２７.0.0.1"],
  ["１３４７４４０７２", "１３４７４４０７２"],
])("international names are what programs ask for: %j", (entry, ascii) => {
  expect(inAscii(entry)).toBe(ascii);
});

test("presets are plain names, each once, with port 443 where no other is needed", () => {
  expect(kPresetNames).toEqual(["npm", "pypi", "github", "debian", "crates", "go"]);
  const all = Object.values(kPresets).flat();
  expect(new Set(all).size).toBe(all.length);
  for (const entry of all) expect(entry).toMatch(/^([a-z0-9-]+\.)+[a-z]+(:(443|22))?$/);
});

const kThen = ["t", "hen"].join("");
const question = { host: "a.test", port: 443, via: "connect" } as const;

test.each([
  ["allow", () => "allow", "allow"],
  ["deny", () => "deny", "deny"],
  ["a promise of allow", async () => "allow", "allow"],
  [
    "an exception",
    () => {
      throw new Error("no");
    },
    "none",
  ],
  ["a rejection", () => Promise.reject(new Error("no")), "none"],
  ["true", () => true, "none"],
  ["nothing", () => undefined, "none"],
  ["another word", () => "Allow", "none"],
  [
    "a thenable that throws",
    () =>
      Object.defineProperty({}, kThen, {
        get() {
          throw new Error("no");
        },
      }),
    "none",
  ],
])("onRequest that answers %s", async (_, onRequest, said) => {
  const answer = vi.fn();
  const ask = askerOf(onRequest as never, answer);
  expect(ask(7, question)).toBeUndefined();
  await expect.poll(() => answer).toHaveBeenCalledWith(7, said);
  expect(answer).toHaveBeenCalledTimes(1);
});

test("onRequest is told what is asked, and when nobody waits any more", async () => {
  const answer = vi.fn();
  const asked: { host: string; signal: AbortSignal }[] = [];
  let settle = (_: "allow") => {};
  const ask = askerOf((request) => {
    asked.push(request);
    return new Promise((resolve) => {
      settle = resolve;
    });
  }, answer);
  ask(1, { ...question, command: ["npm", "ci"] });
  expect(asked).toEqual([{ ...question, command: ["npm", "ci"], signal: expect.any(AbortSignal) }]);
  expect(asked[0]?.signal.aborted).toBe(false);
  ask(1);
  expect(asked[0]?.signal.aborted).toBe(true);
  settle("allow");
  await Promise.resolve();
  ask(1); // one that is not open
  expect(answer).not.toHaveBeenCalled();
});
