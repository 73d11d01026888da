/**
 * Finds an image in what holds it: an OCI layout, the archive of one, or an archive of `docker save`. Reads what describes
 * the image, checks it, and tells where the layers are. Blocks; for a thread.
 */

import { createHash } from "node:crypto";
import { closeSync, createWriteStream, fstatSync, readSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { pipeline } from "node:stream/promises";

import { ImageError } from "../../errors.js";
import type { FoundImage, ImageChoice, ImageConfig, ImageLimits } from "../unpack-thread.js";
import {
  Allowance,
  type FilePart,
  layerBytes,
  openRegular,
  parseDigest,
  readPart,
  tooLarge,
} from "./layer-bytes.js";
import { FileSource, malformed, TarReader } from "./tar-entries.js";

/** Bytes that an index, a manifest or a configuration may have: as those of registries. */
const kMostJsonBytes = 4 * 1024 ** 2;
/** Files that an archive may have. */
const kMostFiles = 100_000;
/** How deep indexes are in indexes, and how many manifests are looked at. */
const kMostDepth = 4;
const kMostManifests = 1000;

/** The files of a layout or an archive, by their paths. */
type Files = (path: string) => FilePart | undefined;

type Json = Record<string, unknown>;

function jsonOf(bytes: Buffer, what: string): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw malformed(`${what} is no JSON`);
  }
}

function object(value: unknown, what: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw malformed(`expected ${what} to be an object`);
}

function list(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw malformed(`expected ${what} to be an array`);
}

/** A text of the image for a message. */
const shown = (value: unknown) => JSON.stringify(String(value).slice(0, 200));

function texts(value: unknown, what: string): string[] {
  if (value === undefined || value === null) return [];
  const all = list(value, what);
  const isText = (each: unknown): each is string =>
    typeof each === "string" && !each.includes("\0");
  if (all.every(isText)) return all;
  throw malformed(`expected ${what} to have texts only`);
}

function text(value: unknown, what: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return texts([value], what)[0];
}

function notFound(message: string, fix?: string): ImageError {
  return new ImageError(message, { code: "ERR_IMAGE_NOT_FOUND", fix });
}

/** The fields of an image's configuration that say how to run a command. */
function configOf(config: Json): ImageConfig {
  const its = object(config.config ?? {}, "`config` of the image's configuration");
  const env: Record<string, string> = Object.create(null);
  for (const each of texts(its.Env, "`config.Env`")) {
    const equals = each.indexOf("=");
    // Others start a container without such a one, too.
    if (equals > 0) env[each.slice(0, equals)] = each.slice(equals + 1);
  }
  const entrypoint = texts(its.Entrypoint, "`config.Entrypoint`");
  const command = texts(its.Cmd, "`config.Cmd`");
  return {
    env: { ...env },
    path: env.PATH,
    workingDirectory: text(its.WorkingDir, "`config.WorkingDir`"),
    entrypoint: entrypoint.length > 0 ? entrypoint : undefined,
    command: command.length > 0 ? command : undefined,
    user: text(its.User, "`config.User`"),
  };
}

/** The digest that identifies layers that lie upon one another, as in the specification ("ChainID"). */
function chainOf(diffIds: readonly string[]): string {
  const digest = (of: string) => `sha256:${createHash("sha256").update(of).digest("hex")}`;
  if (diffIds.length === 0) return digest("");
  return diffIds.reduce((chain, diffId) => digest(`${chain} ${diffId}`));
}

const kArchitectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

type Platform = { os: string; architecture: string; variant: string | undefined };

function wantedPlatform({ platform }: ImageChoice): Platform {
  const own = kArchitectures[process.arch] ?? process.arch;
  const { os = "linux", architecture = own, variant } = platform ?? {};
  return { os, architecture, variant };
}

const platformText = ({ os, architecture, variant }: Platform) =>
  [os, architecture, ...(variant === undefined ? [] : [variant])].join("/");

/** An absent or empty field is no objection. */
function fits(place: Json, wanted: Platform): boolean {
  const isSame = (own: unknown, other: string | undefined) =>
    own === undefined || own === "" || other === undefined || own === other;
  return (
    isSame(place.os, wanted.os) &&
    isSame(place.architecture, wanted.architecture) &&
    isSame(place.variant, wanted.variant)
  );
}

function expectPlatform(config: Json, choice: ImageChoice): void {
  const wanted = wantedPlatform(choice);
  const { os, architecture } = config;
  // Of variants a configuration seldom tells.
  if (fits({ os, architecture }, wanted)) return;
  throw notFound(
    `the image is for ${shown(`${os}/${architecture}`)}, and ${platformText(wanted)} is wanted`,
    "name another image, or its `platform`",
  );
}

/** What an image's configuration says, with the layers that somebody else has named. */
function foundImage(
  digest: string,
  bytes: Buffer,
  layers: readonly FilePart[],
  choice: ImageChoice,
): FoundImage {
  const config = object(jsonOf(bytes, "the image's configuration"), "the image's configuration");
  const rootfs = object(config.rootfs, "`rootfs` of the image's configuration");
  const diffIds = list(rootfs.diff_ids, "`rootfs.diff_ids`").map((each, at) => {
    parseDigest(each, `\`rootfs.diff_ids[${at}]\``);
    return each as string;
  });
  expectPlatform(config, choice);
  if (diffIds.length !== layers.length) {
    const counts = `${layers.length} layers, and its configuration ${diffIds.length}`;
    throw malformed(`the image's manifest has ${counts}`);
  }
  const named = layers.map((part, at) => ({ part, diffId: diffIds[at] as string }));
  return { digest, chain: chainOf(diffIds), config: configOf(config), layers: named };
}

/** A descriptor of an index, with all names by which it may be meant. */
type Described = { digest: string; size: number; mediaType: string; names: string[]; its: Json };

function described(value: unknown, what: string): Described {
  const its = object(value, what);
  parseDigest(its.digest, `\`digest\` of ${what}`);
  const { size, mediaType = "" } = its;
  if (!Number.isSafeInteger(size) || (size as number) < 0) {
    throw malformed(`expected \`size\` of ${what} to be a number of bytes, got ${shown(size)}`);
  }
  const annotations = object(its.annotations ?? {}, `\`annotations\` of ${what}`);
  const kNames = ["org.opencontainers.image.ref.name", "io.containerd.image.name"];
  const names = kNames.flatMap((name) => text(annotations[name], what) ?? []);
  const digest = its.digest as string;
  return { digest, size: size as number, mediaType: String(mediaType), names, its };
}

class Layout {
  readonly #files: Files;
  readonly #choice: ImageChoice;
  #looked = 0;

  constructor(files: Files, choice: ImageChoice) {
    this.#files = files;
    this.#choice = choice;
  }

  /** Only an address of a blob leads to a file, and its digest is checked. */
  #blob({ digest, size }: Described, what: string): FilePart {
    const { algorithm, hex } = parseDigest(digest, what);
    const part = this.#files(`blobs/${algorithm}/${hex}`);
    if (part === undefined) throw malformed(`${what} is missing: ${digest}`);
    if (part.size !== size) throw malformed(`${what} has ${part.size} bytes instead of ${size}`);
    return { ...part, digest };
  }

  #json(of: Described, what: string): Json {
    return object(jsonOf(readPart(this.#blob(of, what), kMostJsonBytes, what), what), what);
  }

  find(index: Json): FoundImage {
    const { tag, digest } = this.#choice;
    const all = list(index.manifests, "`manifests` of index.json").map((each, at) =>
      described(each, `\`manifests[${at}]\` of index.json`),
    );
    const names = [...new Set(all.flatMap((each) => each.names))];
    const there =
      names.length > 0 ? `there are ${names.slice(0, 20).map(shown).join(", ")}` : undefined;
    const tagged = tag === undefined ? all : all.filter((each) => each.names.includes(tag));
    if (tagged.length === 0) {
      throw notFound(
        tag === undefined ? "it holds no image" : `it has no tag ${shown(tag)}`,
        there,
      );
    }
    const chosen = digest === undefined ? tagged : tagged.filter((each) => each.digest === digest);
    if (digest !== undefined && chosen.length === 0) {
      const within = tagged.flatMap((each) => this.#below(each, 0));
      const found = within.find((each) => each.digest === digest);
      if (found === undefined) throw notFound(`it has no image ${shown(digest)}`, there);
      return this.#image(found);
    }
    const manifests = chosen.map((each) => this.#ofPlatform(each));
    const [first, ...others] = manifests.filter((each) => each !== undefined);
    if (first === undefined) {
      const platforms = chosen
        .flatMap((each) => this.#below(each, 0))
        .map(({ its }) => {
          const { os, architecture, variant } = object(its.platform ?? {}, "`platform`");
          return [os, architecture, variant].filter(Boolean).join("/");
        });
      const message = `it has no image for ${platformText(wantedPlatform(this.#choice))}`;
      throw notFound(message, `there are ${[...new Set(platforms)].map(shown).join(", ")}`);
    }
    if (others.some((each) => each.digest !== first.digest)) {
      throw notFound("it holds several images", `name one by \`tag\` or \`digest\`: ${there}`);
    }
    return this.#image(first);
  }

  /** The manifests of a descriptor: itself, or those of the index that it is. Attestations are none. */
  #below(of: Described, depth: number): Described[] {
    this.#looked += 1;
    if (this.#looked > kMostManifests) throw malformed("it has too many manifests");
    if (of.its.artifactType !== undefined) return [];
    if (object(of.its.annotations ?? {}, "`annotations`")["vnd.docker.reference.type"]) return [];
    if (!/image\.index|manifest\.list/.test(of.mediaType)) return [of];
    if (depth >= kMostDepth) throw malformed("its indexes are nested too deep");
    const index = this.#json(of, "an index of the image");
    return list(index.manifests, "`manifests` of an index").flatMap((each) =>
      this.#below(described(each, "a manifest of an index"), depth + 1),
    );
  }

  #ofPlatform(of: Described): Described | undefined {
    const wanted = wantedPlatform(this.#choice);
    return this.#below(of, 0).find(({ its }) =>
      fits(object(its.platform ?? {}, "`platform`"), wanted),
    );
  }

  #image(of: Described): FoundImage {
    const manifest = this.#json(of, "the image's manifest");
    if (manifest.config === undefined || manifest.layers === undefined) {
      const message =
        "the image's manifest has no `config` and `layers`: it is no image, or of an old form";
      throw new ImageError(message, { code: "ERR_IMAGE_UNSUPPORTED" });
    }
    const config = described(manifest.config, "`config` of the image's manifest");
    const bytes = readPart(
      this.#blob(config, "the image's configuration"),
      kMostJsonBytes,
      "the image's configuration",
    );
    const layers = list(manifest.layers, "`layers` of the image's manifest").map((each, at) => {
      const layer = described(each, `\`layers[${at}]\` of the image's manifest`);
      if (/encrypted/.test(layer.mediaType)) {
        throw new ImageError(`layer ${at + 1} is encrypted`, { code: "ERR_IMAGE_UNSUPPORTED" });
      }
      return this.#blob(layer, `layer ${at + 1}`);
    });
    return foundImage(of.digest, bytes, layers, this.#choice);
  }
}

/** The image of an archive of `docker save`: the digest is that of its configuration, which is the image's id. */
function findSaved(files: Files, manifests: unknown, choice: ImageChoice): FoundImage {
  const all = list(manifests, "manifest.json").map((value, at) => {
    const what = `manifest.json[${at}]`;
    const its = object(value, what);
    const [config] = texts([its.Config], `\`Config\` of ${what}`) as [string];
    const part = files(posix.normalize(config));
    if (part === undefined) throw malformed(`it lacks ${shown(config)}, which ${what} names`);
    const bytes = readPart(part, kMostJsonBytes, "the image's configuration");
    const hex = createHash("sha256").update(bytes).digest("hex");
    const told = /(?:^|\/)([0-9a-f]{64})(?:\.json)?$/.exec(config)?.[1];
    if (told !== undefined && told !== hex) {
      throw malformed(
        `the image's configuration is not what it should be: ${hex} instead of ${told}`,
      );
    }
    const names = texts(its.RepoTags, `\`RepoTags\` of ${what}`);
    return {
      digest: `sha256:${hex}`,
      bytes,
      names,
      layers: texts(its.Layers, `\`Layers\` of ${what}`),
    };
  });
  const { tag, digest } = choice;
  const names = [...new Set(all.flatMap((each) => each.names))];
  const there =
    names.length > 0 ? `there are ${names.slice(0, 20).map(shown).join(", ")}` : undefined;
  const [first, ...others] = all.filter(
    (each) =>
      (tag === undefined || each.names.includes(tag)) &&
      (digest === undefined || each.digest === digest),
  );
  if (first === undefined) {
    throw notFound(all.length === 0 ? "it holds no image" : "it has no such tag or digest", there);
  }
  if (others.some((each) => each.digest !== first.digest)) {
    throw notFound("it holds several images", `name one by \`tag\` or \`digest\`: ${there}`);
  }
  const layers = first.layers.map((path) => {
    const part = files(posix.normalize(path));
    if (part === undefined) throw malformed(`it lacks the layer ${shown(path)}`);
    return part;
  });
  return foundImage(first.digest, first.bytes, layers, choice);
}

/** Returns where the files of an archive are. Links among them, which `docker save` has made, are followed. */
async function archiveFiles(file: string): Promise<Files> {
  const descriptor = openRegular(file);
  const parts = new Map<string, FilePart | { link: string }>();
  try {
    const source = new FileSource(descriptor, 0, fstatSync(descriptor).size);
    const reader = new TarReader(source);
    for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
      const path = posix.normalize(entry.name);
      if (entry.kind === "file" && entry.pieces === undefined) {
        parts.set(path, { file, start: source.position, size: entry.size });
      } else if (entry.kind === "symlink") {
        parts.set(path, { link: posix.join(posix.dirname(path), entry.target) });
      } else if (entry.kind === "link") {
        parts.set(path, { link: posix.normalize(entry.target) });
      }
      if (parts.size > kMostFiles) throw malformed(`it has more than ${kMostFiles} files`);
    }
  } finally {
    closeSync(descriptor);
  }
  return (path) => {
    let found = parts.get(path);
    for (let links = 0; found !== undefined && "link" in found && links < 8; links++) {
      found = parts.get(found.link);
    }
    return found !== undefined && "file" in found ? found : undefined;
  };
}

function directoryFiles(directory: string): Files {
  return (path) => {
    const file = join(directory, path);
    const status = statSync(file, { throwIfNoEntry: false });
    return status?.isFile() ? { file, start: 0, size: status.size } : undefined;
  };
}

/** Compressed archives have no places: they are written to `spool` as they are without. */
async function placed(file: string, spool: string, limits: ImageLimits): Promise<string> {
  const descriptor = openRegular(file);
  const first = Buffer.alloc(512);
  let size: number;
  try {
    readSync(descriptor, first, 0, first.length, 0);
    size = fstatSync(descriptor).size;
  } finally {
    closeSync(descriptor);
  }
  if (first.toString("latin1", 257, 262) === "ustar") return file;
  const bytes = layerBytes({ file, start: 0, size }, "the archive", new Allowance(limits));
  await pipeline(bytes, createWriteStream(spool, { mode: 0o600, flags: "wx" }));
  return spool;
}

/**
 * Finds the image.
 * @param spool a file that may be made, for an archive that is compressed.
 * @throws ImageError ERR_IMAGE_NOT_FOUND, ERR_IMAGE_INVALID, ERR_IMAGE_UNSUPPORTED, ERR_IMAGE_TOO_LARGE; Node's errors.
 */
export async function findImage(
  choice: ImageChoice,
  spool: string,
  limits: ImageLimits,
): Promise<FoundImage> {
  const { image } = choice;
  const files = statSync(image).isDirectory()
    ? directoryFiles(image)
    : await archiveFiles(await placed(image, spool, limits));
  const read = (path: string): unknown => {
    const part = files(path);
    return part && jsonOf(readPart(part, kMostJsonBytes, path), path);
  };
  const layout = read("oci-layout");
  const saved = layout === undefined ? read("manifest.json") : undefined;
  if (layout === undefined && !Array.isArray(saved)) {
    throw malformed(
      "it is no OCI layout (oci-layout, index.json), and no archive of `docker save` (manifest.json)",
    );
  }
  if (layout === undefined) return withinLayers(findSaved(files, saved, choice), limits);
  const { imageLayoutVersion: version } = object(layout, "oci-layout");
  if (typeof version !== "string" || !version.startsWith("1.")) {
    throw malformed(
      `expected \`imageLayoutVersion\` of oci-layout to be 1.0.0, got ${shown(version)}`,
    );
  }
  const found = new Layout(files, choice).find(object(read("index.json"), "index.json"));
  return withinLayers(found, limits);
}

function withinLayers(found: FoundImage, { maxLayers }: ImageLimits): FoundImage {
  if (found.layers.length > maxLayers) throw tooLarge("maxLayers", `${maxLayers} layers`);
  return found;
}
