/** Trees that many processes use and unpack at once, that die on the way, and that are pruned. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";

import { ImageStore } from "../../../lib/image/image-store.js";
import { unpackImage, useImage } from "../../../lib/image/unpack-image.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { isRoot, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { madeTar, writeLayout } from "./made-images.js";

const kBuilt = fileURLToPath(new URL("../../../dist/image/unpack-image.js", import.meta.url));

function made(data = "x", files = 1) {
  const base = tempDirectory("store");
  const image = join(base, "image");
  const entries = Array.from({ length: files }, (_, at) => ({ name: `d${at % 50}/f${at}`, data }));
  const locked = { name: "locked", flag: "5", mode: 0o555 };
  writeLayout(image, [{ layers: [madeTar([locked, { name: "locked/in", data }, ...entries])] }]);
  return { image, stateDirectory: join(base, "state") };
}

const treesIn = (state: string) => readdirSync(join(state, "trees"));

/** Starts a process that unpacks, or uses, the image; tells its lines. */
function start(
  call: "unpackImage" | "useImage",
  { image, stateDirectory }: ReturnType<typeof made>,
) {
  const script = `
    const { ${call} } = await import(${JSON.stringify(kBuilt)});
    console.log("begin");
    const { directory } = await ${call}(${JSON.stringify({ image })}, ${JSON.stringify({ stateDirectory })});
    console.log(directory);
    if (${call === "useImage"}) setInterval(() => {}, 1e6);`;
  const child = spawn(kNodeProgram, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  const lines = () => text.split("\n").slice(0, -1);
  return { child, lines, ended: once(child, "close") };
}

describe("a tree", () => {
  test("is made once, and is the same for processes that unpack it at once", async () => {
    const one = made("x", 1000);
    const started = Array.from({ length: 4 }, () => start("unpackImage", one));
    await Promise.all(started.map(({ ended }) => ended));
    const directories = started.map(({ lines }) => lines().at(-1) as string);
    expect(new Set(directories).size).toBe(1);
    expect(treesIn(one.stateDirectory)).toHaveLength(1);
    expect(readFileSync(join(directories[0] as string, "d0/f50"), "utf8")).toBe("x");
  });

  test("is made once by calls of one process at once; one that is aborted does not end the others", async () => {
    const { image, stateDirectory } = made("y", 1000);
    const abort = new AbortController();
    const first = unpackImage({ image }, { stateDirectory, signal: abort.signal });
    const others = [1, 2, 3].map(() => unpackImage({ image }, { stateDirectory }));
    await expect.poll(() => treesIn(stateDirectory).length).toBeGreaterThan(0);
    abort.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    const found = await Promise.all(others);
    expect(new Set(found.map(({ directory }) => directory)).size).toBe(1);
    expect(treesIn(stateDirectory)).toHaveLength(1);
  });

  test("is whole or not there when its maker is killed, and what is left of it is removed", async () => {
    const one = made("z", 8_000);
    let kills = 0;
    for (let round = 0; round < 4; round++) {
      const { child, ended } = start("unpackImage", one);
      const isBegun = () =>
        existsSync(join(one.stateDirectory, "trees")) &&
        treesIn(one.stateDirectory).some((name) =>
          existsSync(join(one.stateDirectory, "trees", name, "tree", "d1")),
        );
      await expect.poll(isBegun, { interval: 2 }).toBe(true);
      child.kill("SIGKILL");
      await ended;
      if (treesIn(one.stateDirectory).some((name) => name.startsWith("sha256-"))) break; // it was faster
      kills += 1;
      expect(treesIn(one.stateDirectory)).toEqual([expect.stringMatching(/^\.making-/)]);
    }
    expect(kills).toBeGreaterThan(0);
    const { directory, entries } = await unpackImage(
      { image: one.image },
      { stateDirectory: one.stateDirectory },
    );
    expect(entries).toBeGreaterThan(8_000);
    expect(readdirSync(join(directory, "d1"))).toHaveLength(160);
    expect(treesIn(one.stateDirectory)).toHaveLength(1);
  });

  test("is not removed while somebody uses it, in this process or another one", async () => {
    const one = made("u");
    const { image, stateDirectory } = one;
    const store = new ImageStore(stateDirectory);
    const used = await useImage({ image }, { stateDirectory });
    const twice = await useImage({ image }, { stateDirectory });
    expect(store.list()).toMatchObject([{ isUsed: true, name: image }]);
    used.release();
    used.release();
    expect(await store.prune()).toMatchObject({
      pruned: [],
      left: [{ name: image }],
      freedBytes: 0,
    });
    twice.release();
    const other = start("useImage", one);
    await expect.poll(() => other.lines().length).toBe(2);
    expect(await store.prune()).toMatchObject({ pruned: [], left: [{ name: image }] });
    expect(readFileSync(join(used.directory, "locked/in"), "utf8")).toBe("u");
    other.child.kill("SIGKILL"); // nobody has to let go
    await other.ended;
    expect(await store.prune({ isDryRun: true })).toMatchObject({ pruned: [{ name: image }] });
    expect(await store.prune({ unusedForMs: 60_000 })).toMatchObject({ pruned: [], left: [] });
    expect(existsSync(used.directory)).toBe(true);
    expect(await store.prune()).toMatchObject({
      pruned: [{ name: image }],
      left: [],
      freedBytes: 2,
    });
    expect(treesIn(stateDirectory)).toEqual([]);
    await unpackImage({ image }, { stateDirectory });
    expect(treesIn(stateDirectory)).toHaveLength(1);
  });

  test("a host's loop goes on while it is made", async () => {
    const { image, stateDirectory } = made("l".repeat(2000), 5_000);
    let turns = 0;
    let goesOn = true;
    const turn = () => {
      turns += 1;
      if (goesOn) setImmediate(turn);
    };
    turn();
    await unpackImage({ image }, { stateDirectory });
    goesOn = false;
    expect(turns).toBeGreaterThan(1000);
  });
});

describe("the directory of images", () => {
  test("is refused if others can write to it, or if it is a link", async () => {
    const { image, stateDirectory } = made();
    mkdirSync(stateDirectory);
    chmodSync(stateDirectory, 0o777);
    const refused = {
      code: "ERR_IMAGE_STORE",
      message: expect.stringContaining("others can write"),
    };
    await expect(unpackImage({ image }, { stateDirectory })).rejects.toMatchObject(refused);
    chmodSync(stateDirectory, 0o700);
    await expect(unpackImage({ image }, { stateDirectory })).resolves.toBeDefined();
    const linked = `${stateDirectory}-link`;
    symlinkSync(stateDirectory, linked);
    await expect(unpackImage({ image }, { stateDirectory: linked })).rejects.toThrow(
      /is no directory/,
    );
    const file = `${stateDirectory}-file`;
    writeFileSync(file, "");
    await expect(unpackImage({ image }, { stateDirectory: file })).rejects.toMatchObject({
      code: "ERR_IMAGE_STORE",
    });
  });

  testUnless(
    isRoot ? "root owns every directory here" : undefined,
    "is refused if it is another user's",
    async () => {
      const { image } = made();
      await expect(unpackImage({ image }, { stateDirectory: "/usr" })).rejects.toMatchObject({
        code: "ERR_IMAGE_STORE",
      });
    },
  );
});
