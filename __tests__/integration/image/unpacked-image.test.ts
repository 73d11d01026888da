// As root too: modes do not keep root out, and root could make devices
/** What a tree has of an image's layers. */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";

import { type ImageChoice, unpackImage } from "../../../lib/image/unpack-image.js";
import { tempDirectory } from "../support/temp.js";
import {
  digestOf,
  type ImageOfLayout,
  kArchitecture,
  type MadeEntry,
  madeTar,
  writeLayout,
} from "./made-images.js";
import { timelessLines, treeLines } from "./unpacked-tree.js";

const kFile = "file 644 1000000000";
const dir = (name: string, more: Partial<MadeEntry> = {}): MadeEntry => ({
  name,
  flag: "5",
  mode: 0o755,
  ...more,
});

/** Unpacks an image of these layers. */
async function unpacked(...layers: MadeEntry[][]) {
  const layout = tempDirectory("image");
  writeLayout(layout, [{ layers: layers.map((entries) => madeTar(entries)) }]);
  return unpackImage({ image: layout }, { stateDirectory: join(layout, "state") });
}

/** Names with what is in the files, and what links lead to. */
async function namesOf(...layers: MadeEntry[][]): Promise<Record<string, string>> {
  const { directory } = await unpacked(...layers);
  const lines = treeLines(directory);
  delete lines["."];
  const texts = Object.entries(lines).map(([path, line]) => {
    if (line.startsWith("file"))
      return [path, readFileSync(Buffer.from(`${directory}/${path}`, "latin1"), "utf8")];
    return [path, line.replace(/^(directory|fifo).*/, "$1").replace(/^symlink \d+/, "->")];
  });
  return Object.fromEntries(texts);
}

describe("a layer", () => {
  test("has files, directories, links and FIFOs, with modes and times", async () => {
    const { directory, bytes, entries, leftOut } = await unpacked([
      dir("./", { mode: 0o711, mtime: 5 }),
      dir("etc/", { mode: 0o555, mtime: 7 }),
      { name: "etc/passwd", data: "root", mode: 0o640 },
      { name: "etc/none", mode: 0, data: "x" },
      { name: "etc/same", flag: "1", target: "etc/passwd" },
      { name: "bin", flag: "2", target: "usr/bin" },
      { name: "out", flag: "2", target: "/etc/shadow" },
      { name: "pipe", flag: "6", mode: 0o622 },
      dir("tmp", { mode: 0o1777 }),
      dir("locked", { mode: 0, mtime: 9 }),
      { name: "locked/inside", data: "y" },
      { name: "no/entry/for/these", data: "z" },
    ]);
    chmodSync(join(directory, "etc/none"), 0o600); // an ordinary user could not read it
    expect(statSync(join(directory, "locked")).mode & 0o777).toBe(0);
    chmodSync(join(directory, "locked"), 0o700);
    expect(treeLines(directory)).toMatchObject({
      ".": "directory 711 5",
      etc: "directory 555 7",
      "etc/passwd": `file 640 1000000000 4 ${digestOf("root").slice(7, 19)}`,
      "etc/none": `file 600 1000000000 1 ${digestOf("x").slice(7, 19)}`,
      "etc/same": "link etc/passwd",
      bin: "symlink 1000000000 usr/bin",
      out: "symlink 1000000000 /etc/shadow",
      pipe: "fifo 622 1000000000",
      tmp: "directory 1777 1000000000",
      locked: "directory 700 9",
      "locked/inside": expect.stringContaining(kFile),
      "no/entry/for": expect.stringContaining("directory 755"),
      "no/entry/for/these": expect.stringContaining(kFile),
    });
    expect({ bytes, entries }).toEqual({ bytes: 7, entries: 15 });
    expect(leftOut).toEqual({ devices: 0, capabilities: 0, setIds: 0 });
  });

  test("has no devices, no set-id bits and no capabilities, which is told", async () => {
    const image = await unpacked([
      { name: "null", flag: "3", mode: 0o666 },
      { name: "disk", flag: "4" },
      { name: "again", flag: "1", target: "null" },
      { name: "su", mode: 0o6755, data: "x" },
      { name: "ping", pax: { "SCHILY.xattr.security.capability": "\x01\0\0\x02" }, data: "x" },
      { name: "quiet", pax: { "SCHILY.xattr.user.a": "b" }, data: "x" },
    ]);
    expect(readdirSync(image.directory).sort()).toEqual(["ping", "quiet", "su"]);
    expect(statSync(join(image.directory, "su")).mode & 0o7777).toBe(0o755);
    expect(image.leftOut).toEqual({ devices: 3, capabilities: 1, setIds: 1 });
  });

  test("has names that are no UTF-8, long ones, and those of PAX and GNU headers", async () => {
    const long = `${"a".repeat(200)}/${"b".repeat(255)}`;
    const names = await namesOf([
      { name: "\xff", data: "1" },
      { name: "h", pax: { path: "\xfe" }, data: "2" },
      { name: "h", pax: { path: "\xfd" }, data: "3" },
      { name: long, data: "4" },
      { name: "to", flag: "2", target: `${"c".repeat(300)}\xff` },
      { name: "p", pax: { path: "from-pax", mtime: "12.5", size: "1" }, data: "5" },
      { name: "g", flag: "g", data: "15 path=all-of\n" },
      { name: "new\nline \x1b[31m", data: "6" },
    ]);
    expect(names).toEqual({
      ...{ "\xff": "1", "\xfe": "2", "\xfd": "3", [long]: "4", "from-pax": "5" },
      ...{ ["a".repeat(200)]: "directory", "new\nline \x1b[31m": "6" },
      to: `-> ${"c".repeat(300)}\xff`,
    });
  });

  test("is contained: absolute names, and links in the way", async () => {
    const names = await namesOf(
      [
        { name: "/abs", data: "1" },
        { name: "a/../b", data: "2" },
        { name: "lib", flag: "2", target: "usr/lib" },
        { name: "up", flag: "2", target: "../../../.." },
        { name: "root", flag: "2", target: "/" },
        { name: "gone", flag: "2", target: "/not/there" },
      ],
      [
        { name: "lib/x", data: "3" },
        { name: "up/y", data: "4" },
        { name: "root/usr/z", data: "5" },
        { name: "gone/w", data: "6" },
        { name: "hard", flag: "1", target: "/root/lib/x" },
      ],
    );
    expect(names).toEqual({
      ...{ abs: "1", b: "2", y: "4", "usr/z": "5", "not/there/w": "6" },
      ...{ usr: "directory", "usr/lib": "directory", not: "directory", "not/there": "directory" },
      ...{ lib: "-> usr/lib", up: "-> ../../../..", root: "-> /", gone: "-> /not/there" },
      ...{ hard: "3", "usr/lib/x": "link hard" },
    });
  });

  test("has sparse files of every format", async () => {
    const mebi = 1024 ** 2;
    const map = `2\n1024\n3\n${mebi - 2}\n2\n`;
    const old = Buffer.alloc(512);
    madeTar([{ name: "old", flag: "S", size: 5 }], false).copy(old);
    const oldPieces = [1024, 3, mebi - 2, 2].map(
      (each) => `${each.toString(8).padStart(11, "0")}\0`,
    );
    old.write(oldPieces.join(""), 386);
    old.write(`${mebi.toString(8).padStart(11, "0")}\0`, 483);
    old.write("        ", 148);
    const sum = old.reduce((all, byte) => all + byte, 0);
    old.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    const layer = Buffer.concat([
      old,
      Buffer.concat([Buffer.from("abcde")], 512),
      madeTar([
        {
          name: "v1",
          pax: {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "one",
            "GNU.sparse.realsize": `${mebi}`,
          },
          data: Buffer.concat([Buffer.concat([Buffer.from(map)], 512), Buffer.from("abcde")]),
        },
        {
          name: "v01",
          pax: { "GNU.sparse.size": `${mebi}`, "GNU.sparse.map": `1024,3,${mebi - 2},2` },
          data: "abcde",
        },
        { name: "end", data: "x" },
      ]),
    ]);
    const layout = tempDirectory("image");
    writeLayout(layout, [{ layers: [layer] }]);
    const { directory } = await unpackImage(
      { image: layout },
      { stateDirectory: join(layout, "s") },
    );
    const expected = Buffer.alloc(mebi);
    expected.write("abc", 1024);
    expected.write("de", mebi - 2);
    for (const name of ["old", "one", "v01"]) {
      expect(readFileSync(join(directory, name)).equals(expected), name).toBe(true);
      expect(statSync(join(directory, name)).blocks).toBeLessThan(mebi / 512);
    }
    expect(readFileSync(join(directory, "end"), "utf8")).toBe("x");
  });

  test.each([
    ["gnu", []],
    ["gnu", ["--sparse"]],
    ["posix", ["--sparse"]],
    ["posix", ["--sparse", "--sparse-version=0.0"]],
    ["posix", ["--sparse", "--sparse-version=0.1"]],
    ["ustar", []],
    ["v7", []],
    ["oldgnu", []],
  ])("of tar(1), format %s %j, is what was packed", async (format, more) => {
    const from = tempDirectory("from");
    mkdirSync(join(from, "deep/er"), { recursive: true });
    writeFileSync(join(from, "deep/er/file"), "text");
    writeFileSync(Buffer.from(`${from}/n\xff`, "latin1"), "bytes");
    writeFileSync(join(from, "sparse"), "begin");
    truncateSync(join(from, "sparse"), 3_000_000);
    writeFileSync(join(from, "sparse"), "end", { flag: "a" });
    linkSync(join(from, "sparse"), join(from, "deep/linked"));
    symlinkSync("er/file", join(from, "deep/link"));
    if (format !== "v7" && format !== "ustar") writeFileSync(join(from, "long".repeat(50)), "l");
    const tar = spawnSync("tar", ["-C", from, `--format=${format}`, ...more, "-cf", "-", "."], {
      maxBuffer: 2 ** 26,
    });
    expect(tar.status, tar.stderr.toString()).toBe(0);
    const layout = tempDirectory("image");
    writeLayout(layout, [{ layers: [tar.stdout] }]);
    const { directory } = await unpackImage(
      { image: layout },
      { stateDirectory: join(layout, "s") },
    );
    expect(treeLines(directory)).toEqual(treeLines(from));
  });
});

describe("layers upon one another", () => {
  const kLower = [
    dir("d"),
    { name: "d/one", data: "1" },
    { name: "d/two", data: "2" },
    dir("d/sub"),
    { name: "d/sub/x", data: "x" },
    { name: "f", data: "f" },
  ];

  test("whiteouts remove what lower layers have, whatever the order of the entries", async () => {
    expect(
      await namesOf(kLower, [{ name: "d/.wh.one" }, { name: ".wh.f" }, { name: "d/.wh.none" }]),
    ).toEqual({
      ...{ d: "directory", "d/two": "2", "d/sub": "directory", "d/sub/x": "x" },
    });
    const own = [
      { name: "d/one", data: "new" },
      { name: "f/g", data: "g" },
    ];
    for (const layer of [
      [...own, { name: "d/.wh.one" }, { name: ".wh.f" }],
      [{ name: "d/.wh.one" }, { name: ".wh.f" }, ...own],
    ]) {
      const names = await namesOf(kLower, layer);
      expect(names).toMatchObject({ "d/one": "new", "f/g": "g", "d/two": "2" });
    }
    expect(await namesOf(kLower, [{ name: ".wh.d" }])).toEqual({ f: "f" });
    const within = [{ name: "d/sub/new", data: "n" }, { name: ".wh.d" }];
    expect(await namesOf(kLower, within)).toEqual({
      ...{ d: "directory", "d/sub": "directory", "d/sub/new": "n", f: "f" },
    });
  });

  test("opaque directories have nothing of lower layers", async () => {
    const own = { name: "d/own", data: "o" };
    for (const layer of [
      [dir("d"), { name: "d/.wh..wh..opq" }, own],
      [dir("d"), own, { name: "d/.wh..wh..opq" }],
    ]) {
      expect(await namesOf(kLower, layer)).toEqual({ d: "directory", "d/own": "o", f: "f" });
    }
    expect(await namesOf(kLower, [{ name: "d/.wh..wh.plnk" }])).toMatchObject({ "d/one": "1" });
  });

  test("anything takes the place of anything else", async () => {
    expect(await namesOf(kLower, [{ name: "d", data: "file" }])).toEqual({ d: "file", f: "f" });
    expect(await namesOf(kLower, [dir("f"), { name: "f/in", data: "i" }])).toMatchObject({
      f: "directory",
      "f/in": "i",
    });
    expect(await namesOf(kLower, [{ name: "f", flag: "2", target: "d/one" }])).toMatchObject({
      f: "-> d/one",
      "d/one": "1",
    });
    expect(await namesOf(kLower, [{ name: "d", flag: "2", target: "/" }])).toEqual({
      d: "-> /",
      f: "f",
    });
    expect(await namesOf(kLower, [{ name: "f", flag: "6" }])).toMatchObject({ f: "fifo" });
    expect(await namesOf(kLower, [{ name: "f", flag: "3" }])).not.toHaveProperty("f");
    const link = [{ name: "l", flag: "2", target: "d/one" }];
    expect(await namesOf(kLower, link, [{ name: "l", data: "own" }])).toMatchObject({
      l: "own",
      "d/one": "1",
    });
    expect(await namesOf(kLower, link, [dir("l"), { name: "l/x", data: "x" }])).toMatchObject({
      "l/x": "x",
      "d/one": "1",
    });
  });

  test("hard links lead to files of lower layers; a file that is replaced leaves the other name as it was", async () => {
    const names = await namesOf(
      kLower,
      [{ name: "again", flag: "1", target: "d/one" }],
      [{ name: "d/one", data: "new" }],
    );
    expect(names).toMatchObject({ again: "1", "d/one": "new" });
    const same = await namesOf(kLower, [{ name: "f", flag: "1", target: "./f" }]);
    expect(same).toMatchObject({ f: "f" });
    const toLink = [
      { name: "l", flag: "2", target: "nowhere" },
      { name: "m", flag: "1", target: "l" },
    ];
    expect(await namesOf(toLink)).toEqual({ l: "-> nowhere", m: "-> nowhere" });
  });

  test("modes and times of directories are those of the last entry", async () => {
    const { directory } = await unpacked(
      [dir("d", { mode: 0o500, mtime: 1 }), { name: "d/a", data: "a" }],
      [{ name: "d/b", data: "b" }],
      [dir("d", { mode: 0o511, mtime: 3 }), { name: "d/.wh.a" }],
    );
    expect(treeLines(directory)).toMatchObject({ d: "directory 511 3", "d/b": expect.any(String) });
    expect(existsSync(join(directory, "d/a"))).toBe(false);
  });
});

describe("an image", () => {
  const kTree = [madeTar([{ name: "a", data: "a" }]), madeTar([{ name: "b", data: "b" }])];
  const made = (images: readonly ImageOfLayout[]) => {
    const layout = tempDirectory("image");
    return { layout, digests: writeLayout(layout, images), stateDirectory: join(layout, "state") };
  };
  const pack = (directory: string, ...more: string[]) => {
    const file = join(tempDirectory("archive"), "image.tar");
    const tar = spawnSync("tar", ["-C", directory, "--exclude=./state", "-cf", file, ...more, "."]);
    expect(tar.status).toBe(0);
    return file;
  };

  test("is the same tree from a layout, its archive and a compressed one, however layers are compressed", async () => {
    const zipped = made([{ layers: kTree }]);
    const plain = made([{ layers: kTree.map((tar) => ({ tar, stored: tar })) }]);
    const twice = made([
      {
        layers: kTree.map((tar) => ({
          tar,
          stored: Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]),
        })),
      },
    ]);
    const { stateDirectory } = zipped;
    const images = [
      zipped.layout,
      plain.layout,
      twice.layout,
      pack(zipped.layout),
      pack(zipped.layout, "--gzip"),
    ];
    const trees = new Set<string>();
    for (const image of images) {
      const found = await unpackImage({ image }, { stateDirectory });
      trees.add(found.directory);
      expect(readFileSync(join(found.directory, "b"), "utf8")).toBe("b");
    }
    expect(trees.size).toBe(1);
    expect(readdirSync(join(stateDirectory, "trees"))).toHaveLength(1);
  });

  test("tells what its configuration says", async () => {
    const config = {
      Env: ["PATH=/opt/bin:/bin", "A=b=c", "EMPTY=", "nothing"],
      ...{ WorkingDir: "/srv", Entrypoint: ["/init"], Cmd: ["a", "b"], User: "1000:100" },
    };
    const { layout, digests, stateDirectory } = made([{ layers: kTree, config }]);
    const image = await unpackImage({ image: layout }, { stateDirectory });
    expect(image.digest).toBe(digests[0]);
    expect(image.config).toEqual({
      env: { PATH: "/opt/bin:/bin", A: "b=c", EMPTY: "" },
      ...{ path: "/opt/bin:/bin", workingDirectory: "/srv", user: "1000:100" },
      ...{ entrypoint: ["/init"], command: ["a", "b"] },
    });
    const bare = made([{ layers: [] }]);
    const empty = await unpackImage({ image: bare.layout }, { stateDirectory });
    expect(empty.config.env).toEqual({});
    expect(readdirSync(empty.directory)).toEqual([]);
  });

  test("is chosen by tag, digest and platform", async () => {
    const layer = (data: string) => [madeTar([{ name: "which", data }])];
    const { layout, digests, stateDirectory } = made([
      { layers: layer("one"), tags: ["1", "latest"] },
      { layers: layer("two"), tags: ["2"] },
      {
        layers: layer("arm"),
        tags: ["m"],
        more: { architecture: "mips" },
        platform: { os: "linux", architecture: "mips" },
      },
      { layers: layer("own"), tags: ["m"], platform: { os: "linux", architecture: kArchitecture } },
    ]);
    const which = async (choice: Partial<ImageChoice>) => {
      const { directory } = await unpackImage({ image: layout, ...choice }, { stateDirectory });
      return readFileSync(join(directory, "which"), "utf8");
    };
    expect(await which({ tag: "1" })).toBe("one");
    expect(await which({ tag: "latest" })).toBe("one");
    expect(await which({ digest: digests[2] })).toBe("two"); // the first has two names
    expect(await which({ tag: "m" })).toBe("own");
    expect(await which({ tag: "m", platform: { architecture: "mips" } })).toBe("arm");
    await expect(which({})).rejects.toMatchObject({
      code: "ERR_IMAGE_NOT_FOUND",
      message: expect.stringContaining("several images"),
      fix: expect.stringContaining('"latest"'),
    });
    await expect(which({ tag: "3" })).rejects.toThrow(/no tag "3"/);
    await expect(which({ tag: "m", platform: { architecture: "sparc" } })).rejects.toThrow(
      /no image for linux\/sparc/,
    );
    await expect(which({ digest: digestOf("none") })).rejects.toThrow(/no image "sha256:/);
  });

  test("is in an index of an index", async () => {
    const { layout, digests, stateDirectory } = made([{ layers: kTree }]);
    const { manifests } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
    const inner = JSON.stringify({ schemaVersion: 2, manifests });
    writeFileSync(join(layout, "blobs/sha256", digestOf(inner).slice(7)), inner);
    const outer = {
      mediaType: "application/vnd.oci.image.index.v1+json",
      digest: digestOf(inner),
      size: inner.length,
    };
    writeFileSync(
      join(layout, "index.json"),
      JSON.stringify({ schemaVersion: 2, manifests: [outer] }),
    );
    expect(await unpackImage({ image: layout }, { stateDirectory })).toMatchObject({
      digest: digests[0],
    });
  });

  test("of docker save is read, with links among its layers", async () => {
    const from = tempDirectory("saved");
    const [first, second] = kTree as [Buffer, Buffer];
    mkdirSync(join(from, "one"));
    mkdirSync(join(from, "two"));
    mkdirSync(join(from, "three"));
    writeFileSync(join(from, "one/layer.tar"), first);
    writeFileSync(join(from, "two/layer.tar"), second);
    symlinkSync("../one/layer.tar", join(from, "three/layer.tar"));
    const config = JSON.stringify({
      ...{ os: "linux", architecture: kArchitecture, config: { Env: ["A=1"] } },
      rootfs: { type: "layers", diff_ids: [first, second, first].map(digestOf) },
    });
    const id = digestOf(config).slice(7);
    writeFileSync(join(from, `${id}.json`), config);
    const Layers = ["one", "two", "three"].map((name) => `${name}/layer.tar`);
    const saved = [{ Config: `${id}.json`, RepoTags: ["mine:1"], Layers }];
    writeFileSync(join(from, "manifest.json"), JSON.stringify(saved));
    const image = pack(from);
    const options = { stateDirectory: join(from, "state") };
    const found = await unpackImage({ image, tag: "mine:1" }, options);
    expect(found).toMatchObject({ digest: `sha256:${id}`, config: { env: { A: "1" } } });
    expect(Object.keys(timelessLines(found.directory))).toEqual([".", "a", "b"]);
    await expect(unpackImage({ image, tag: "mine:2" }, options)).rejects.toThrow(
      /no such tag.*|mine:1/,
    );
    const other = [
      { Config: `${id}.json`, RepoTags: null, Layers: ["one/layer.tar", "two/layer.tar", "../x"] },
    ];
    writeFileSync(join(from, "manifest.json"), JSON.stringify(other));
    await expect(unpackImage({ image: pack(from) }, options)).rejects.toThrow(
      /lacks the layer "..\/x"/,
    );
  });
});
