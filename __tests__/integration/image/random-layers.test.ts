// As root too: Podman unpacks there without a user namespace
/** Random layers: the tree is the one of a model, and the one that Podman makes of the same image. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { unpackImage } from "../../../lib/image/unpack-image.js";
import { lacks } from "../network/client-programs.js";
import { isRoot, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { type MadeEntry, madeTar, writeLayout } from "./made-images.js";
import { timelessLines } from "./unpacked-tree.js";

/** What a model's tree has at a path. */
type Node =
  | { kind: "file"; text: string; mode: number }
  | { kind: "directory"; mode: number }
  | { kind: "symlink"; target: string };
type Step =
  | { do: "file"; path: string; text: string; mode: number }
  | { do: "directory"; path: string; mode: number }
  | { do: "symlink"; path: string; target: string }
  | { do: "delete"; path: string }
  | { do: "opaque"; path: string };

const names = fc.constantFrom("a", "b", "c", "\xc3\xa9");
const paths = fc.array(names, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const modes = fc.constantFrom(0o644, 0o755, 0o700, 0o711);
/** With what an ordinary user needs to look. */
const directoryModes = fc.constantFrom(0o755, 0o700, 0o711);
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("file" as const),
    path: paths,
    text: fc.string({ maxLength: 5, unit: "grapheme-ascii" }),
    mode: modes,
  }),
  fc.record({ do: fc.constant("directory" as const), path: paths, mode: directoryModes }),
  fc.record({ do: fc.constant("symlink" as const), path: paths, target: names }),
  fc.record({ do: fc.constant("delete" as const), path: paths }),
  fc.record({ do: fc.constant("opaque" as const), path: paths }),
);

const within = (tree: Map<string, Node>, path: string) =>
  [...tree.keys()].filter((each) => each.startsWith(`${path}/`));
const parentOf = (path: string) => path.slice(0, Math.max(path.lastIndexOf("/"), 0));

/**
 * Changes a file system step by step, and returns the layer that a tool makes of what has changed: removals first, and
 * a directory before what is in it. Steps that a file system refuses are none.
 */
function layerOf(tree: Map<string, Node>, all: readonly Step[]): MadeEntry[] {
  const before = new Map(tree);
  const opaque = new Set<string>();
  for (const step of all) {
    const { path } = step;
    const parent = parentOf(path);
    if (parent !== "" && tree.get(parent)?.kind !== "directory") continue;
    const clear = () => {
      for (const each of [path, ...within(tree, path)]) tree.delete(each);
    };
    if (step.do === "delete") clear();
    else if (step.do === "directory") {
      if (tree.get(path)?.kind !== "directory") clear();
      tree.set(path, { kind: "directory", mode: step.mode });
    } else if (step.do === "opaque") {
      if (tree.get(path)?.kind !== "directory") continue;
      for (const each of within(tree, path)) tree.delete(each);
      opaque.add(path);
    } else {
      clear();
      if (step.do === "file") tree.set(path, { kind: "file", text: step.text, mode: step.mode });
      else tree.set(path, { kind: "symlink", target: step.target });
    }
  }
  const isOpaque = (path: string) =>
    opaque.has(path) &&
    tree.get(path)?.kind === "directory" &&
    before.get(path)?.kind === "directory";
  const hasOpaque = (path: string): boolean =>
    path !== "" && (isOpaque(path) || hasOpaque(parentOf(path)));
  const entries: MadeEntry[] = [];
  const kept = (path: string) => path === "" || tree.get(path)?.kind === "directory";
  for (const path of [...opaque].sort()) {
    if (isOpaque(path)) entries.push({ name: `${path}/.wh..wh..opq` });
  }
  for (const path of [...before.keys()].sort()) {
    const parent = parentOf(path);
    if (tree.has(path) || !kept(parent) || hasOpaque(parent)) continue;
    if (parent !== "" && before.get(parent)?.kind !== "directory") continue;
    const base = path.slice(parent === "" ? 0 : parent.length + 1);
    entries.push({ name: `${parent === "" ? "" : `${parent}/`}.wh.${base}` });
  }
  for (const path of [...tree.keys()].sort()) {
    const node = tree.get(path) as Node;
    const old = before.get(path);
    if (
      JSON.stringify(old) === JSON.stringify(node) &&
      !hasOpaque(parentOf(path)) &&
      !opaque.has(path)
    )
      continue;
    if (node.kind === "file") entries.push({ name: path, data: node.text, mode: node.mode });
    else if (node.kind === "directory")
      entries.push({ name: `${path}/`, flag: "5", mode: node.mode });
    else entries.push({ name: path, flag: "2", target: node.target });
  }
  return entries;
}

function modelLines(tree: Map<string, Node>): Record<string, string> {
  const lines = [...tree].map(([path, node]) => {
    if (node.kind === "symlink") return [path, `symlink ${node.target}`];
    return [
      path,
      `${node.kind} ${node.mode.toString(8)}${node.kind === "file" ? ` ${node.text.length}` : ""}`,
    ];
  });
  return Object.fromEntries(lines);
}

function seenLines(directory: string): Record<string, string> {
  const { ".": _, ...lines } = timelessLines(directory);
  return Object.fromEntries(
    Object.entries(lines).map(([path, line]) => [path, line.replace(/^(file \d+ \d+) .*/, "$1")]),
  );
}

const layers = fc.array(fc.array(steps, { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 5,
});

function build(all: readonly Step[][]) {
  const tree = new Map<string, Node>();
  const image = tempDirectory("random");
  const tars = all.map((each) => madeTar(layerOf(tree, each)));
  writeLayout(image, [{ layers: tars, tags: ["one"] }]);
  return { image, tree };
}

describe("random layers", () => {
  test("become the tree of a model", async () => {
    const property = fc.asyncProperty(layers, async (all) => {
      const { image, tree } = build(all);
      const { directory } = await unpackImage({ image }, { stateDirectory: join(image, "state") });
      expect(seenLines(directory)).toEqual(modelLines(tree));
    });
    await fc.assert(property, { numRuns: 60, endOnFailure: true });
  });

  const whyNoPodman =
    lacks("podman") ?? (isRoot ? undefined : "an ordinary user's Podman needs subordinate ids");
  testUnless(whyNoPodman, "become the tree that Podman makes", async () => {
    const place = tempDirectory("podman");
    const podman = (...words: string[]) => {
      const where = [
        "--root",
        join(place, "root"),
        "--runroot",
        join(place, "run"),
        "--storage-driver",
        "vfs",
      ];
      const done = spawnSync("podman", [...where, ...words], { encoding: "utf8", timeout: 60_000 });
      expect(done.status, done.stderr).toBe(0);
      return done.stdout.trim();
    };
    const property = fc.asyncProperty(layers, async (all) => {
      const { image } = build(all);
      const archive = join(place, "image.tar");
      expect(spawnSync("tar", ["-C", image, "-cf", archive, "."]).status).toBe(0);
      podman("load", "-q", "-i", archive);
      const id = podman("images", "-q");
      const mounted = podman("image", "mount", id);
      const { directory } = await unpackImage({ image }, { stateDirectory: join(image, "state") });
      expect(timelessLines(directory)).toEqual({
        ...timelessLines(mounted),
        ".": expect.any(String),
      });
      podman("image", "unmount", id);
      podman("rmi", "-f", id);
    });
    await fc.assert(property, { numRuns: 12, endOnFailure: true });
  });
});
