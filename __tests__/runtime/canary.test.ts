/** The canary's pure parts: what its answer says, and what follows from it. */

import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

import { type Achieved, type Evidence, judge } from "../../lib/runtime/canary.js";
import { whyBroken } from "../../lib/runtime/canary-probes.js";
import { kCanaryScript, parseAnswer } from "../../lib/runtime/canary-script.js";

const kNone: Achieved = { read: [], wrote: [], tcp: false, abstract: false };
const kAll: Achieved = { read: ["/a", "/b"], wrote: ["/a", "/b"], tcp: true, abstract: true };

const kGood: Evidence = {
  grants: { readable: [], writable: [], network: false },
  confined: kNone,
  control: kAll,
  unreadable: ["/a", "/b"],
  unwritable: ["/a", "/b"],
  survivorSeen: true,
  survivorLeft: false,
  layers: ["seccomp"],
};

const verdicts = (changes: Partial<Evidence>) =>
  judge({ ...kGood, ...changes }).map(({ verdict }) => verdict);

describe("judge", () => {
  it("finds all refused", () => {
    expect(verdicts({})).toEqual(Array(5).fill("refused"));
    expect(whyBroken(judge(kGood))).toBeUndefined();
  });

  it.each([
    ["read-secret", { read: ["/b"] }, { read: [] }],
    ["write-outside", { wrote: ["/b"] }, { wrote: [] }],
    ["reach-tcp", { tcp: true }, { tcp: undefined }],
    ["reach-abstract", { abstract: true }, { abstract: false }],
  ])("finds %s reached, whatever the control did and the layers say", (name, got, failed) => {
    const confined = { ...kNone, ...got };
    for (const control of [kAll, { ...kAll, ...failed }]) {
      const probes = judge({ ...kGood, confined, control, layers: ["network-namespace"] });
      expect(probes.find((probe) => probe.name === name)?.verdict).toBe("reached");
      expect(whyBroken(probes)).toContain("does not confine");
    }
  });

  it("says where it got to", () => {
    expect(judge({ ...kGood, confined: { ...kNone, read: ["/b"] } })[0]?.detail).toBe("/b");
  });

  it("passes no probe that can't work", () => {
    expect(judge({ ...kGood, control: { ...kAll, read: ["/a"] } })[0]).toEqual({
      name: "read-secret",
      verdict: "unproved",
      detail: "the same probe fails unconfined as well",
    });
    const confined = { ...kNone, tcp: undefined };
    expect(verdicts({ confined })[2]).toBe("unproved");
    expect(verdicts({ control: { ...kAll, abstract: undefined } })[3]).toBe("unproved");
    expect(whyBroken(judge({ ...kGood, confined }))).toContain("could not be proved");
  });

  it("lets a layer stand in for what can't be tried, for the network only", () => {
    const confined = { ...kNone, tcp: undefined, abstract: undefined };
    const network = (layer: string) => verdicts({ confined, layers: [layer] }).slice(2, 4);
    expect(network("network-namespace")).toEqual(["layer", "layer"]);
    expect(network("landlock-scope")).toEqual(["unproved", "layer"]);
    const control = { ...kAll, read: [] };
    expect(verdicts({ control, layers: ["mount-namespace"] })[0]).toBe("unproved");
  });

  it("holds nothing against what the policy grants", () => {
    const grants = { ...kGood.grants, network: true };
    const confined = { ...kNone, tcp: true, abstract: true };
    const found = verdicts({ grants, confined, unreadable: [], unwritable: [] });
    expect(found).toEqual(["granted", "granted", "granted", "granted", "refused"]);
  });

  it("takes an opened sandbox for granted, but nothing that outlives it", () => {
    const layers = ["opened:--share-net"];
    const confined = { ...kNone, tcp: true, read: ["/a"] };
    const found = verdicts({ confined, layers, survivorLeft: true });
    expect(found).toEqual(["granted", "refused", "granted", "refused", "reached"]);
  });

  it("must have seen the survivor alive", () => {
    expect(verdicts({ survivorSeen: false })[4]).toBe("unproved");
    expect(verdicts({ survivorSeen: false, survivorLeft: true })[4]).toBe("reached");
  });
});

describe("parseAnswer", () => {
  const kAnswer = [
    "noise",
    "canary:up",
    "canary:read=abc=d",
    "canary:wrote=tried",
    "canary:read=",
    "canary:reach-tcp=perl tried hello",
    "canary:reach-abstract=perl tried",
    "canary:end",
  ];

  it("reads what was tried and answered", () => {
    expect(parseAnswer(`${kAnswer.join("\n")}\n`)).toEqual({
      secrets: ["abc=d", ""],
      tcp: { tool: "perl", answer: "hello" },
      abstract: { tool: "perl", answer: "" },
    });
    const untried = kAnswer.filter((line) => !line.includes("reach"));
    expect(parseAnswer(untried.join("\n"))).toEqual({
      secrets: ["abc=d", ""],
      tcp: undefined,
      abstract: undefined,
    });
  });

  it("counts nothing of a canary that did not come to its end", () => {
    expect(parseAnswer(kAnswer.slice(0, -1).join("\n"))).toBeUndefined();
    expect(parseAnswer("")).toBeUndefined();
  });
});

it("the script is one that sh can read", (context) => {
  context.skip(process.platform === "win32", "Windows has no sh");
  const { status, stderr } = spawnSync("sh", ["-n", "-c", kCanaryScript], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
