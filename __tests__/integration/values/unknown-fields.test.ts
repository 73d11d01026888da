/** Nothing is ignored: whatever the package takes refuses a field that it does not know. */

import { beforeAll, expect, test } from "vitest";

import { kEngine } from "../other-hosts/this-engine.js";
import { type EntryPoint, entryPoints } from "../support/entry-points/index.js";
import { BubblewrapNativeRunner, parseRuntimeConfig } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { buildSkills } from "../support/skills.js";
import { tempDirectory } from "../support/temp.js";

const kPolluted = "aFieldOfEveryObject";

/** What is thrown or rejected with; undefined when all went well. */
async function failureOf(point: EntryPoint, given: object): Promise<unknown> {
  try {
    await point.call(given as never);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The same while every object seems to have a field; it is gone before anything is waited for. */
async function failureWhenPolluted(point: EntryPoint): Promise<unknown> {
  let running: Promise<unknown>;
  Object.defineProperty(Object.prototype, kPolluted, {
    value: "x",
    enumerable: true,
    configurable: true,
  });
  try {
    running = failureOf(point, { ...point.right });
  } finally {
    Reflect.deleteProperty(Object.prototype, kPolluted);
  }
  return running;
}

function expectUnknown(error: unknown, field: string, place: string): void {
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
  expect((error as Error).message).toContain(`Unknown field "${field}" in \`${place}\`; `);
}

describeSandboxed("unknown fields", () => {
  // The tests' names are needed before there is a workspace.
  const host = { shadowDir: tempDirectory("fields"), skill: "/skills/echo.wasm" };
  // Skills have no built-in engine in others: values are looked at, and then it is missing.
  const isHere = ({ title }: EntryPoint) =>
    kEngine === "Node.js" || !/^(skill|execute options)/.test(title);
  const points = entryPoints(host).filter(isHere);
  let made: EntryPoint[] = points;
  beforeAll(async () => {
    made = entryPoints({ ...host, skill: (await buildSkills(["echo"])).echo }).filter(isHere);
  }, 60_000);
  const titles = points.map(({ title, misspelled }, index): [string, number] => [
    `${title} (${misspelled[0]})`,
    index,
  ]);
  const pointAt = (index: number): EntryPoint => made[index] as EntryPoint;

  test.each(titles)("%s takes what is right", async (_, index) => {
    const point = pointAt(index);
    expect(await failureOf(point, point.right)).toBeUndefined();
  });

  test.each(titles)("%s refuses an unknown field", async (_, index) => {
    const point = pointAt(index);
    const error = await failureOf(point, { ...point.right, zyx: 1 });
    expectUnknown(error, "zyx", point.place);
    for (const name of Object.keys(point.right)) {
      expect((error as Error).message).toContain(`\`${name}\``);
    }
  });

  test.each(titles)("%s knows what was meant", async (_, index) => {
    const point = pointAt(index);
    const [name, meant] = point.misspelled;
    for (const value of [false, null, 0, "x"]) {
      const error = await failureOf(point, { ...point.right, [name]: value });
      expectUnknown(error, name, point.place);
      expect((error as Error).message).toMatch(/; did you mean `([^`]+)`\?$/);
      expect((error as Error).message).toContain(`\`${meant}\``);
    }
  });

  test.each(titles)("%s takes one that is undefined, or a symbol's", async (_, index) => {
    const point = pointAt(index);
    const [name] = point.misspelled;
    const given = { ...point.right, [name]: undefined, [Symbol("zyx")]: 1 };
    expect(await failureOf(point, given)).toBeUndefined();
  });

  test.each(titles)("%s leaves alone what every object has", async (_, index) => {
    expect(await failureWhenPolluted(pointAt(index))).toBeUndefined();
  });

  test("an unknown field is told before a missing one", () => {
    const make = () => new BubblewrapNativeRunner({ allowWriteWorkspce: false } as never);
    expect(make).toThrow(/"allowWriteWorkspce".*`allowWriteWorkspace`/);
  });

  test("what a getter throws comes through", () => {
    const options = {
      shadowDir: "/w",
      get zyx() {
        throw new Error("from the getter");
      },
    };
    expect(() => new BubblewrapNativeRunner(options)).toThrow("from the getter");
  });

  test("a configuration takes what is undefined, and refuses what is not", () => {
    const config = { netwrok: undefined, landlock: { fsReadDir: undefined } };
    expect(parseRuntimeConfig(config)).toMatchObject({ network: "deny" });
    expect(() => parseRuntimeConfig({ netwrok: "allow" })).toThrow(/did you mean `network`/);
  });
});
