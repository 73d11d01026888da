import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import { kBlockList } from "./corpus/block-list.js";
import { type Choose, mutatePlace, mutatePrefix, mutateWord, mutateWords } from "./mutations.js";
import { wordsByBash } from "./support.js";

const kBlocked = kBlockList.map(([command]) => command);
/** One command of plain words. */
const kSimple = kBlocked.filter(
  (command) => /^[\w\s/.~*+:=-]+$/.test(command) && !/^\w+=|^\./.test(command),
);
/** No quotes, here-documents or names that must stay next to their neighbours. */
const kSpaced = kBlocked.filter((command) => !/['"`\\\n]|<<|^time /.test(command));

/** Choices that fast-check makes, so that it can shrink them. */
const choices = fc.array(fc.nat(9999), { minLength: 64, maxLength: 256 });

function choosing(numbers: readonly number[]): Choose {
  let next = 0;
  return (count) => (numbers[next++ % numbers.length] ?? 0) % count;
}

describe("a blocked command stays blocked", () => {
  it("however its words are quoted and spaced", () => {
    expect(kSimple.length).toBeGreaterThan(50);
    fc.assert(
      fc.property(fc.constantFrom(...kSimple), choices, (command, numbers) => {
        const choose = choosing(numbers);
        const simple = mutatePrefix(mutateWords(command.split(" "), choose), choose);
        const mutated = mutatePlace(simple, choose);
        expect(checkShellCommand(mutated).allowed, JSON.stringify(mutated)).toBe(false);
      }),
      { numRuns: 4000, seed: 3 },
    );
  });

  it("wherever it stands", () => {
    fc.assert(
      fc.property(fc.constantFrom(...kSpaced), choices, (command, numbers) => {
        const choose = choosing(numbers);
        const spaced = command.replaceAll(" ", () => [" ", "  ", "\t", " \\\n "][choose(4)] ?? " ");
        const mutated = mutatePlace(mutatePlace(spaced, choose), choose);
        expect(checkShellCommand(mutated).allowed, JSON.stringify(mutated)).toBe(false);
      }),
      { numRuns: 2000, seed: 4 },
    );
  });

  it("inside a string that a shell runs", () => {
    for (const command of kBlocked) {
      const quoted = `'${command.replaceAll("'", "'\\''")}'`;
      for (const wrapped of [
        `sh -c ${quoted}`,
        `bash -lc ${quoted}`,
        `eval ${quoted}`,
        `trap ${quoted} EXIT`,
      ]) {
        expect(checkShellCommand(wrapped).allowed, wrapped).toBe(false);
      }
    }
  });
});

describe("the mutations", () => {
  it("mean the same to bash", () => {
    const words = [...new Set(kSimple.flatMap((command) => command.split(" ")))].filter((word) =>
      /^[\w/.=+:-]+$/.test(word),
    );
    const samples = fc.sample(fc.tuple(fc.constantFrom(...words), choices), {
      numRuns: 1500,
      seed: 5,
    });
    const mutated = samples.map(([word, numbers]) => mutateWord(word, choosing(numbers)));
    const read = wordsByBash(mutated);
    expect(read).toEqual(samples.map(([word]) => [word]));
  });
});
