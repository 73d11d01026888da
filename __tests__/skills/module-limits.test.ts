/** What is read out of modules and put into them; V8 is the judge of what comes out. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  binaryKind,
  kPageBytes,
  readDeclaration,
  withMaxPages,
} from "../../lib/skills/guest/module-limits.mjs";
import { wat } from "../support/wat.js";

/** How many pages a module's memory really takes, tried by growing it. */
async function pagesUntilFull(bytes: Uint8Array<ArrayBuffer>): Promise<number> {
  const { exports } = new WebAssembly.Instance(await WebAssembly.compile(bytes));
  const grow = exports.grow as (pages: number) => number;
  let pages = grow(0);
  while (grow(1) !== -1) pages += 1;
  return pages;
}

const growing = (memory: string) =>
  wat(`(module ${memory}
    (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`);

describe("binaryKind", () => {
  it.each([
    ["module", [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]],
    ["component", [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]],
    ["other", [0, 0x61, 0x73, 0x6d, 2, 0, 0, 0]],
    ["other", [0x7f, 0x45, 0x4c, 0x46, 1, 0, 0, 0]],
    ["other", [0, 0x61, 0x73, 0x6d]],
    ["other", []],
  ])("%s: %j", (kind, bytes) => {
    expect(binaryKind(new Uint8Array(bytes))).toBe(kind);
  });
});

describe("a memory", () => {
  it.each([
    ["(memory 1)", 1, undefined],
    ["(memory 3 7)", 3, 7],
    ["(memory 300 40000)", 300, 40_000],
  ])("%s is read", async (text, minPages, maxPages) => {
    const declared = readDeclaration(await growing(text));
    expect(declared).toMatchObject({ isBounded: true, memory: { minPages, maxPages } });
  });

  it.each([
    ["(memory 1)", 5, 5],
    ["(memory 1)", 200, 200],
    ["(memory 1)", 1, 1],
    ["(memory 2 1000)", 300, 300],
    ["(memory 2 9)", 300, 9],
    ['(memory (export "memory") 1)', 40, 40],
  ])("%s with at most %i pages grows to %i", async (text, maxPages, full) => {
    const bytes = await growing(text);
    const capped = withMaxPages(bytes, readDeclaration(bytes), maxPages);
    expect(await pagesUntilFull(capped)).toBe(full);
  });

  it("grows beyond that when nothing is put in", async () => {
    expect(await pagesUntilFull(await growing("(memory 1 300)"))).toBe(300);
  });

  it("leaves a module without one as it is", async () => {
    const bytes = await wat("(module)");
    const declared = readDeclaration(bytes);
    expect(declared).toEqual({ memory: undefined, isBounded: true });
    expect(withMaxPages(bytes, declared, 1)).toBe(bytes);
  });
});

describe("what can grow besides", () => {
  it.each([
    ["a table without a maximum", "(table 1 funcref)", {}],
    ["a table that is too long", "(table 1 100001 funcref)", {}],
    ["many tables", `${"(table 0 50000 funcref)".repeat(3)}`, {}],
    ["an imported memory", '(import "a" "b" (memory 1))', {}],
    ["an imported table", '(import "a" "b" (table 1 funcref))', {}],
    ["two memories", "(memory 1) (memory 1)", { multi_memory: true }],
    ["a shared memory", "(memory 1 2 shared)", { threads: true }],
    ["a 64-bit memory", "(memory i64 1)", { memory64: true }],
  ])("%s is called unbounded", async (_, text, features) => {
    expect(readDeclaration(await wat(`(module ${text})`, features)).isBounded).toBe(false);
  });

  it.each([
    ["a table with a maximum", "(table 1 10 funcref)"],
    ["imported functions", '(import "a" "b" (func (param i32 i64 f32 f64) (result i32)))'],
    ["functions of references", "(table 1 1 externref) (func (param externref))"],
  ])("%s is bounded", async (_, text) => {
    expect(readDeclaration(await wat(`(module ${text} (memory 1))`)).isBounded).toBe(true);
  });

  it("struct types are called unbounded", () => {
    // (module (type (struct)))
    const bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 3, 1, 0x5f, 0];
    expect(readDeclaration(new Uint8Array(bytes)).isBounded).toBe(false);
  });
});

describe("any bytes", () => {
  it("never throw", () => {
    const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (rest) => {
        const bytes = new Uint8Array([...header, ...rest]);
        const declared = readDeclaration(bytes);
        withMaxPages(bytes, declared, 7);
      }),
    );
  });

  it("a module that V8 takes never grows beyond the maximum that was put in", async () => {
    const memory = fc
      .tuple(fc.nat(3), fc.option(fc.nat(200)))
      .map(([min, more]) => `(memory ${min} ${more === null ? "" : min + more})`);
    await fc.assert(
      fc.asyncProperty(memory, fc.integer({ min: 3, max: 200 }), async (text, maxPages) => {
        const bytes = await growing(text);
        const capped = withMaxPages(bytes, readDeclaration(bytes), maxPages);
        expect(await pagesUntilFull(capped)).toBeLessThanOrEqual(maxPages);
      }),
      { numRuns: 40 },
    );
    expect(kPageBytes).toBe(65_536);
  });
});
