/** What is shown of a command while it runs, at a terminal and elsewhere. */

import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { CommandView } from "../../../examples/demo-node/terminal/command-view.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function makeView(isTTY: boolean) {
  const stream = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY });
  const view = new CommandView(stream);
  return { view, shown: () => stripVTControlCharacters(String(stream.read() ?? "")) };
}

const bytes = (text: string) => new TextEncoder().encode(text);

test("at a terminal a line tells for how long it runs, until it ends", () => {
  const { view, shown } = makeView(true);
  view.commandStarted("make\nmake test");
  expect(shown()).toContain("$ make");
  vi.advanceTimersByTime(2300);
  expect(shown()).toMatch(/ 2\.3 s/);
  view.commandWrote("stdout", bytes("ok\n"));
  expect(shown()).toMatch(/ok\n$/);
  view.commandEnded("exit code 0", 2345);
  expect(shown()).toMatch(/exit code 0, 2\.3 s/);
  vi.advanceTimersByTime(1000);
  expect(shown()).toBe("");
});

test("elsewhere nothing is drawn", () => {
  const { view, shown } = makeView(false);
  view.commandStarted("make");
  shown();
  vi.advanceTimersByTime(5000);
  expect(shown()).toBe("");
  view.commandEnded("exit code 0");
  vi.advanceTimersByTime(5000);
  expect(shown()).not.toContain("\r");
});

test("output comes by whole lines, whole characters, and not without end", () => {
  const { view, shown } = makeView(false);
  view.commandStarted("x");
  shown();
  const smile = bytes("a \u{1f600}");
  view.commandWrote("stdout", smile.subarray(0, 4));
  view.commandWrote("stderr", bytes("e\n"));
  view.commandWrote("stdout", smile.subarray(4));
  expect(shown()).toMatch(/^.*\| e\n$/);
  for (let line = 0; line < 100; line++) view.commandWrote("stdout", bytes(" line\n"));
  view.commandWrote("stdout", bytes("x".repeat(100_000)));
  view.commandEnded("exit code 0");
  const text = shown();
  expect(text).toContain("a \u{1f600} line\n");
  expect(text.split("\n").length).toBeLessThan(25);
  expect(text).toContain("... and more\n");
});
