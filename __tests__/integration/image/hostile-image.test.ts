// As root too: what is refused must not have been written where only root may write
/** Images that would do harm, or that are not what they say: each is refused and leaves nothing, and its harmless like is taken. */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { constants, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";

import { type ImageLimits, unpackImage } from "../../../lib/image/unpack-image.js";
import { tempDirectory } from "../support/temp.js";
import { type ImageOfLayout, type MadeEntry, madeTar, writeLayout } from "./made-images.js";
import { timelessLines } from "./unpacked-tree.js";

const kEnd = Buffer.alloc(1024);

type Made = { base: string; layout: string; state: string };

function made(image: Partial<ImageOfLayout> & { layers: ImageOfLayout["layers"] }): Made {
  const base = tempDirectory("hostile");
  const layout = join(base, "image");
  writeLayout(layout, [image]);
  return { base, layout, state: join(base, "state") };
}

const unpack = ({ layout, state }: Made, limits?: Partial<ImageLimits>) =>
  unpackImage({ image: layout }, { stateDirectory: state, ...(limits && { limits }) });

/** It is refused so, nothing of it is left, and nothing was written beside the tree. */
async function expectRefused(
  image: Made,
  code: string,
  message: RegExp,
  limits?: Partial<ImageLimits>,
) {
  const beside = () => readdirSync(image.base).filter((name) => name !== "state");
  const before = beside();
  const failure = await unpack(image, limits).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toMatchObject({
    name: "ImageError",
    code,
    message: expect.stringMatching(message),
  });
  expect(readdirSync(join(image.state, "trees"))).toEqual([]);
  expect(beside()).toEqual(before);
}

const layersOf = (entries: readonly MadeEntry[]): Made => made({ layers: [madeTar(entries)] });

describe("an entry", () => {
  const dir = (name: string): MadeEntry => ({ name, flag: "5", mode: 0o755 });
  const kCases: [what: string, refused: MadeEntry[], message: RegExp, taken: MadeEntry[]][] = [
    [
      "whose name leads out",
      [{ name: "../../out", data: "x" }],
      /leads out of the image: "..\/..\/out"/,
      [{ name: "a/../out", data: "x" }],
    ],
    [
      "whose name leads out further on",
      [{ name: "a/../../out", data: "x" }],
      /leads out/,
      [{ name: "./a/./out", data: "x" }],
    ],
    [
      "whose name leads out in a PAX header",
      [{ name: "x", pax: { path: "../out" }, data: "x" }],
      /leads out/,
      [{ name: "x", pax: { path: "out" }, data: "x" }],
    ],
    [
      "that is a hard link out",
      [{ name: "l", flag: "1", target: "../../../../etc/passwd" }],
      /hard link "l" leads out/,
      [{ name: "f" }, { name: "l", flag: "1", target: "/f" }],
    ],
    [
      "that is a hard link through a link out",
      [
        { name: "e", flag: "2", target: "/etc" },
        { name: "l", flag: "1", target: "e/passwd" },
      ],
      /not there/,
      [
        { name: "e", flag: "2", target: "/etc" },
        { name: "etc/passwd" },
        { name: "l", flag: "1", target: "e/passwd" },
      ],
    ],
    [
      "that is a hard link to a directory",
      [dir("d"), { name: "l", flag: "1", target: "d" }],
      /leads to a directory/,
      [dir("d"), { name: "d/f" }, { name: "l", flag: "1", target: "d/f" }],
    ],
    [
      "that is behind links in a circle",
      [
        { name: "a", flag: "2", target: "b" },
        { name: "b", flag: "2", target: "a" },
        { name: "a/x" },
      ],
      /too many links/,
      [
        { name: "a", flag: "2", target: "b" },
        { name: "b", flag: "2", target: "a" },
      ],
    ],
    [
      "that takes the root's place",
      [{ name: "./", flag: "2", target: "/" }],
      /image's root/,
      [dir("./")],
    ],
    [
      "of an unknown type",
      [{ name: "x", flag: "Z" }],
      /unknown type "Z"/,
      [{ name: "x", flag: "7" }],
    ],
    [
      "that is a link to nothing",
      [{ name: "x", flag: "2" }],
      /leads nowhere/,
      [{ name: "x", flag: "2", target: "y" }],
    ],
    [
      "whose name is too long",
      [{ name: "n".repeat(256) }],
      /more than 255 bytes/,
      [{ name: "n".repeat(255) }],
    ],
    [
      "whose path is too long for the kernel",
      [{ name: "d/".repeat(2040) }],
      /can't be made/,
      [{ name: "d/".repeat(1000) }],
    ],
    [
      "with a NUL in its name",
      [{ name: "x", pax: { path: "a\0b" } }],
      /NUL/,
      [{ name: "x", pax: { path: "ab" } }],
    ],
    ["that is a whiteout of nothing", [{ name: ".wh." }], /names nothing/, [{ name: ".wh.a" }]],
    [
      "that is a whiteout of its directory",
      [{ name: "d/.wh.." }],
      /names nothing/,
      [{ name: "d/.wh..x" }],
    ],
    [
      "that is a whiteout of the one above",
      [{ name: "d/.wh..." }],
      /names nothing/,
      [{ name: "d/.wh....x" }],
    ],
    [
      "that is sparse beyond its end",
      [{ name: "x", pax: { "GNU.sparse.size": "10", "GNU.sparse.map": "8,3" }, data: "abc" }],
      /sparse/,
      [{ name: "x", pax: { "GNU.sparse.size": "11", "GNU.sparse.map": "8,3" }, data: "abc" }],
    ],
    [
      "that is sparse with pieces that overlap",
      [{ name: "x", pax: { "GNU.sparse.size": "10", "GNU.sparse.map": "0,2,1,1" }, data: "abc" }],
      /sparse/,
      [{ name: "x", pax: { "GNU.sparse.size": "10", "GNU.sparse.map": "0,2,2,1" }, data: "abc" }],
    ],
    [
      "that is sparse with other data than its map says",
      [{ name: "x", pax: { "GNU.sparse.size": "10", "GNU.sparse.map": "0,2" }, data: "abc" }],
      /map is not that of its data/,
      [{ name: "x", pax: { "GNU.sparse.size": "10", "GNU.sparse.map": "0,3" }, data: "abc" }],
    ],
    [
      "with a PAX header that is no records",
      [{ name: "P", flag: "x", data: "99 path=x\n" }, { name: "x" }],
      /PAX/,
      [{ name: "P", flag: "x", data: "10 path=x\n" }, { name: "y" }],
    ],
    [
      "with a size in a PAX header that is none",
      [{ name: "x", pax: { size: "-1" } }],
      /"-1" where a number/,
      [{ name: "x", pax: { size: "0" } }],
    ],
  ];
  test.each(kCases)("%s is refused", async (_what, refused, message, taken) => {
    await expectRefused(layersOf(refused), "ERR_IMAGE_INVALID", message);
    await expect(unpack(layersOf(taken))).resolves.toBeDefined();
  });

  test("goes nowhere through a link of a lower layer", async () => {
    const outside = tempDirectory("outside");
    const image = made({
      layers: [
        madeTar([
          { name: "link", flag: "2", target: outside },
          { name: "up", flag: "2", target: `../../../../../..${outside}` },
        ]),
        madeTar([
          { name: "link/one", data: "1" },
          { name: "up/two", data: "2" },
          { name: "link/.wh..wh..opq" },
          { name: "up/.wh.kept" },
        ]),
      ],
    });
    writeFileSync(join(outside, "kept"), "kept");
    const { directory } = await unpack(image);
    expect(readdirSync(outside)).toEqual(["kept"]);
    expect(readFileSync(join(directory, outside, "one"), "utf8")).toBe("1");
    expect(lstatSync(join(directory, "link")).isSymbolicLink()).toBe(true);
  });

  test("writes through no link of its own name", async () => {
    const outside = tempDirectory("outside");
    const target = join(outside, "file");
    writeFileSync(target, "kept");
    const link: MadeEntry = { name: "f", flag: "2", target };
    for (const entry of [
      { name: "f", data: "x" },
      { name: "f", flag: "5" },
      { name: "f", flag: "6" },
    ]) {
      await unpack(layersOf([link, entry]));
      expect(readFileSync(target, "utf8")).toBe("kept");
    }
  });
});

describe("an archive", () => {
  const whole = madeTar([{ name: "a", data: "x".repeat(600) }]);
  const damaged = Buffer.from(whole);
  damaged[150] = 0x37;
  test.each([
    ["that ends in the middle of an entry", whole.subarray(0, 1024), /middle of an entry/],
    ["that ends in the middle of a header", whole.subarray(0, 300), /middle of a header/],
    ["whose header is damaged", damaged, /no tar archive/],
    ["that is none", Buffer.from("x".repeat(2000)), /no tar archive/],
    [
      "that goes on after its end",
      Buffer.concat([whole.subarray(0, -512), whole]),
      /follows its end/,
    ],
  ])("%s is refused", async (_what, tar, message) => {
    await expectRefused(made({ layers: [{ tar, stored: tar }] }), "ERR_IMAGE_INVALID", message);
  });

  test("may lack its end, and may have more zeros", async () => {
    for (const tar of [
      whole.subarray(0, -1024),
      whole.subarray(0, -512),
      Buffer.concat([whole, kEnd, kEnd]),
    ]) {
      const { directory } = await unpack(made({ layers: [tar] }));
      expect(readFileSync(join(directory, "a"), "utf8")).toHaveLength(600);
    }
  });
});

describe("a layer", () => {
  const tar = madeTar([{ name: "a", data: "a" }]);
  const blobOf = (image: Made, kind: "layers" | "config") => {
    const read = (digest: string) =>
      join(image.layout, "blobs/sha256", digest.slice("sha256:".length));
    const index = JSON.parse(readFileSync(join(image.layout, "index.json"), "utf8"));
    const manifest = JSON.parse(readFileSync(read(index.manifests[0].digest), "utf8"));
    return read(kind === "config" ? manifest.config.digest : manifest.layers[0].digest);
  };

  test("that is not what its digest says is refused, and so is a configuration", async () => {
    const image = made({ layers: [{ tar, stored: tar }] });
    const layer = blobOf(image, "layers");
    const changed = readFileSync(layer);
    changed[0] = "b".charCodeAt(0);
    writeFileSync(layer, changed);
    await expectRefused(image, "ERR_IMAGE_INVALID", /layer 1 of 1.* (instead of|damaged)/);
    writeFileSync(layer, tar);
    await unpack(image);
    const other = made({ layers: [tar] });
    const config = readFileSync(blobOf(other, "config"), "utf8");
    writeFileSync(blobOf(other, "config"), config.replace("linux", "linus"));
    await expectRefused(other, "ERR_IMAGE_INVALID", /configuration is not what it should be/);
  });

  test("that unpacks to something else than its image says is refused", async () => {
    const other = madeTar([{ name: "a", data: "b" }]);
    const image = made({ layers: [{ tar, stored: gzipSync(other) }] });
    await expectRefused(image, "ERR_IMAGE_INVALID", /uncompressed, is not what it should be/);
    const behind = made({
      layers: [{ tar, stored: Buffer.concat([tar, kEnd, Buffer.from("more")]) }],
    });
    await expectRefused(behind, "ERR_IMAGE_INVALID", /uncompressed/);
  });

  test("that is cut off, too short, missing or goes on is refused", async () => {
    const stored = gzipSync(tar);
    await expectRefused(
      made({ layers: [{ tar, stored: stored.subarray(0, -9) }] }),
      "ERR_IMAGE_INVALID",
      /decompressed/,
    );
    const more = made({
      layers: [{ tar, stored: Buffer.concat([stored, Buffer.alloc(2 ** 20, "x")]) }],
    });
    await expectRefused(more, "ERR_IMAGE_INVALID", /goes on|decompressed/);
    const short = made({ layers: [tar] });
    writeFileSync(blobOf(short, "layers"), "");
    await expectRefused(short, "ERR_IMAGE_INVALID", /has 0 bytes instead of/);
  });

  test.each([
    ["xz", Buffer.from("fd377a585a000004", "hex")],
    ["bzip2", Buffer.from("425a68393141", "hex")],
  ])("that is compressed by %s is refused", async (name, stored) => {
    await expectRefused(
      made({ layers: [{ tar, stored }] }),
      "ERR_IMAGE_UNSUPPORTED",
      new RegExp(`compressed by ${name}`),
    );
  });

  test("that is compressed by zstd is unpacked where Node.js can, and else refused with what to do", async () => {
    // A frame of one raw block.
    const size = Buffer.alloc(4);
    size.writeUInt32LE(tar.length);
    const header = Buffer.alloc(3);
    header.writeUIntLE((tar.length << 3) | 1, 0, 3);
    const stored = Buffer.concat([Buffer.from("28b52ffda0", "hex"), size, header, tar]);
    const image = made({ layers: [{ tar, stored }] });
    if ("createZstdDecompress" in zlib) {
      expect(readFileSync(join((await unpack(image)).directory, "a"), "utf8")).toBe("a");
    } else {
      await expectRefused(image, "ERR_IMAGE_UNSUPPORTED", /zstd, which Node\.js v\d+.* can't read/);
      await expect(unpack(image)).rejects.toMatchObject({
        fix: expect.stringContaining("Node.js 22.15"),
      });
    }
  });
});

describe("what is larger than it may be", () => {
  const kZeros = 64 * 1024 ** 2;
  const bomb = () => {
    const tar = madeTar([{ name: "zeros", data: Buffer.alloc(kZeros) }]);
    const stored = gzipSync(tar, { level: constants.Z_BEST_COMPRESSION });
    expect(stored.length).toBeLessThan(100_000);
    return made({ layers: [{ tar, stored }] });
  };

  test("bytes: of a bomb, of a file that only says so, of holes, and of headers", async () => {
    const limits = { maxBytes: 1024 ** 2 };
    const image = bomb();
    await expectRefused(
      image,
      "ERR_IMAGE_TOO_LARGE",
      /more than 1048576 bytes \(`maxBytes`\)/,
      limits,
    );
    expect((await unpack(image)).bytes).toBe(kZeros);
    const says = made({
      layers: [
        {
          tar: madeTar([{ name: "x", size: 2 ** 30 }]),
          stored: madeTar([{ name: "x", size: 2 ** 30 }]),
        },
      ],
    });
    await expectRefused(says, "ERR_IMAGE_TOO_LARGE", /maxBytes/, limits);
    const holes = layersOf([
      { name: "x", pax: { "GNU.sparse.size": `${2 ** 40}`, "GNU.sparse.map": "0,1" }, data: "x" },
    ]);
    await expectRefused(holes, "ERR_IMAGE_TOO_LARGE", /maxBytes/);
    const headers = layersOf(Array.from({ length: 3000 }, () => ({ name: "d", flag: "5" })));
    await expectRefused(headers, "ERR_IMAGE_TOO_LARGE", /maxBytes/, limits);
    const again = layersOf(
      Array.from({ length: 3 }, () => ({ name: "same", data: Buffer.alloc(400_000) })),
    );
    await expectRefused(again, "ERR_IMAGE_TOO_LARGE", /maxBytes/, limits);
  });

  test("entries, layers and paths, each at its limit and one beyond", async () => {
    const files = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `f${at}` }));
    await unpack(layersOf(files(10)), { maxEntries: 10 });
    await expectRefused(layersOf(files(11)), "ERR_IMAGE_TOO_LARGE", /more than 10 entries/, {
      maxEntries: 10,
    });
    // Directories without entries count too.
    await expectRefused(layersOf([{ name: "a/".repeat(20) }]), "ERR_IMAGE_TOO_LARGE", /entries/, {
      maxEntries: 10,
    });
    const layers = (count: number) =>
      made({ layers: Array.from({ length: count }, () => madeTar(files(1))) });
    await unpack(layers(3), { maxLayers: 3 });
    await expectRefused(layers(4), "ERR_IMAGE_TOO_LARGE", /more than 3 layers/, { maxLayers: 3 });
    await unpack(layersOf([{ name: "12345" }]), { maxPathBytes: 5 });
    await expectRefused(
      layersOf([{ name: "123456" }]),
      "ERR_IMAGE_TOO_LARGE",
      /5 bytes in a path/,
      { maxPathBytes: 5 },
    );
  });

  test("JSON", async () => {
    const image = made({ layers: [] });
    writeFileSync(join(image.layout, "index.json"), `{"manifests":[]${" ".repeat(5 * 1024 ** 2)}}`);
    await expectRefused(image, "ERR_IMAGE_INVALID", /index.json is larger than/);
  });
});

describe("what describes an image", () => {
  const write = (files: Record<string, unknown>) => {
    const image = made({ layers: [] });
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(
        join(image.layout, name),
        typeof content === "string" ? content : JSON.stringify(content),
      );
    }
    return image;
  };
  const ref = (more: object) => ({ digest: `sha256:${"0".repeat(64)}`, size: 1, ...more });
  test.each([
    ["no JSON", { "index.json": "{" }, /index.json is no JSON/],
    ["an array", { "index.json": [] }, /index.json to be an object/],
    [
      "a digest that is a path",
      { "index.json": { manifests: [ref({ digest: "sha256:../../../../etc/passwd" })] } },
      /digest/,
    ],
    [
      "a digest that is too short",
      { "index.json": { manifests: [ref({ digest: "sha256:00" })] } },
      /digest/,
    ],
    ["a size that is none", { "index.json": { manifests: [ref({ size: -1 })] } }, /`size`/],
    ["a blob that is missing", { "index.json": { manifests: [ref({})] } }, /missing/],
    [
      "another version",
      { "oci-layout": { imageLayoutVersion: "2" } },
      /imageLayoutVersion.*got "2"/,
    ],
  ])("has %s, and is refused", async (_what, files, message) => {
    await expectRefused(write(files), "ERR_IMAGE_INVALID", message);
  });

  test("is no directory of something else, no FIFO, and nothing that is not there", async () => {
    const base = tempDirectory("other");
    const state = join(base, "state");
    mkdirSync(join(base, "empty"));
    await expectRefused(
      { base, layout: join(base, "empty"), state },
      "ERR_IMAGE_INVALID",
      /no OCI layout/,
    );
    await expectRefused(
      { base, layout: "/dev/null", state },
      "ERR_IMAGE_INVALID",
      /not a regular file/,
    );
    await expectRefused(
      { base, layout: join(base, "none"), state },
      "ERR_IMAGE_NOT_FOUND",
      /there is no image/,
    );
    writeFileSync(join(base, "text"), "x".repeat(5000));
    await expectRefused(
      { base, layout: join(base, "text"), state },
      "ERR_IMAGE_INVALID",
      /no tar archive/,
    );
  });
});

test("wrong values are refused by name", async () => {
  const image = layersOf([{ name: "a" }]);
  const use = (choice: unknown, options: unknown = {}) =>
    unpackImage(choice as never, options as never);
  await expect(use("path")).rejects.toThrow(/Expected `image` to be an object, got "path"/);
  await expect(use({})).rejects.toThrow(/Expected `image` to be a string, got undefined/);
  await expect(use({ image: "" })).rejects.toThrow(/Expected `image`/);
  await expect(use({ image: "x", tags: "y" })).rejects.toThrow(
    /Unknown field "tags".*did you mean `tag`/,
  );
  await expect(use({ image: image.layout, tag: 1 })).rejects.toThrow(
    /Expected `tag` to be a string, got 1/,
  );
  await expect(use({ image: image.layout }, { stateDirectory: "here" })).rejects.toThrow(
    /absolute path, got "here"/,
  );
  await expect(use({ image: image.layout }, { limits: { maxBytes: 0 } })).rejects.toThrow(
    /`limits.maxBytes`.*got 0/,
  );
  await expect(use({ image: image.layout }, { limits: { maxByte: 1 } })).rejects.toThrow(
    /did you mean `maxBytes`/,
  );
  expect(existsSync(image.state)).toBe(false);
  expect(Object.keys(timelessLines((await unpack(image)).directory))).toEqual([".", "a"]);
});
