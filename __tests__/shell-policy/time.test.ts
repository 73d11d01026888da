/**
 * A check must not hold up its caller. The machine's speed is taken out by comparing CPU time with
 * that of an ordinary text of the same length; FUZZ_SECONDS makes the search longer.
 */

import { describe, expect, it } from "vitest";

import { kMaxSteps } from "../../lib/shell-policy/budget.js";
import { relativeCost, stepsOf, warmUp } from "./cost.js";
import { hostileText, kMostCharacters, kSlow } from "./hostile-texts.js";

/** What is quadratic in a text of this length takes from 15 times as long on. */
const kMultiple = 6;
const kSeconds = Number(process.env.FUZZ_SECONDS ?? 4);
/** So many made texts at least, however slow the machine is. */
const kFewest = 20;

function choosing(seed: number) {
  let state = seed;
  return (count: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * count);
  };
}

function shown(text: string): string {
  return JSON.stringify(`${text.slice(0, 60)}…${text.slice(-20)}`);
}

describe("the time of a check", { timeout: (kSeconds + 60) * 1000 }, () => {
  it("is bounded for texts that once took long", () => {
    warmUp();
    for (const text of kSlow) {
      expect(Buffer.byteLength(text), shown(text)).toBeLessThanOrEqual(kMostCharacters);
      expect(relativeCost(text), shown(text)).toBeLessThan(kMultiple);
    }
  });

  it("is bounded for made texts", () => {
    warmUp();
    const until = performance.now() + kSeconds * 1000;
    let seed = 1;
    for (; seed <= kFewest || performance.now() < until; seed++) {
      const text = hostileText(choosing(seed * 7919));
      expect(relativeCost(text), `seed ${seed}: ${shown(text)}`).toBeLessThan(kMultiple);
    }
    expect(seed).toBeGreaterThan(kFewest);
  });
});

describe("the steps of a check", () => {
  it("are as many as the text is long", () => {
    for (const of of ["ls -l a;", 'echo "$x";', "rm -rf /*?;", "a=b;", "(ls)\n", "cd a/b;"]) {
      const short = stepsOf(of.repeat(200));
      const long = stepsOf(of.repeat(400));
      expect(short, of).toBeGreaterThan(200 * of.length);
      expect(long / short, of).toBeLessThan(2.1);
    }
  });

  it("end soon after they are too many", () => {
    for (let seed = 1; seed <= 100; seed++) {
      const text = hostileText(choosing(seed));
      expect(stepsOf(text), shown(text)).toBeLessThan(2 * kMaxSteps);
    }
  });
});
