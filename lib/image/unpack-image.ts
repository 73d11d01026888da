/** Unpacks images as root file systems, once each: as an ordinary user, without a daemon. */

import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";

import { ImageError, invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { type AboutTree, ImageStore, type Lock } from "./image-store.js";
import {
  type FoundImage,
  type ImageChoice,
  type ImageConfig,
  type ImageLimits,
  type LeftOut,
  UnpackThread,
} from "./unpack-thread.js";

export type { ImageChoice, ImageConfig, ImageLimits, LeftOut } from "./unpack-thread.js";

/** The most that an image may have unless somebody says otherwise. */
export const kDefaultLimits: ImageLimits = {
  maxBytes: 16 * 1024 ** 3,
  maxEntries: 1_000_000,
  maxLayers: 500,
  maxPathBytes: 4095,
};

/** How an image is unpacked. */
export type UnpackOptions = {
  /** Where images are kept, an absolute path. Default: "openagentic/images" in the user's state directory. */
  stateDirectory?: string | undefined;
  /** The most that the image may have. It does not matter for one that is unpacked already. */
  limits?: Partial<ImageLimits> | undefined;
  /** Aborts; nothing is left then. */
  signal?: AbortSignal | undefined;
};

/** An image that is unpacked. */
export type UnpackedImage = {
  /** Its files: the root directory. Whoever changes them changes the image for all who use it later. */
  directory: string;
  /** The digest of its manifest; of an archive of `docker save` that of its configuration, which is the image's id. */
  digest: string;
  config: ImageConfig;
  /** Bytes of its files, and entries of its layers. */
  bytes: number;
  entries: number;
  /** Counts what the image has and the tree lacks. */
  leftOut: LeftOut;
};

/** An image that nobody can prune until it is released, or this process ends. */
export type UsedImage = UnpackedImage & {
  /** May be called more than once. */
  release(): void;
};

const kChoiceFields: FieldsOf<ImageChoice> = {
  image: true,
  tag: true,
  digest: true,
  platform: true,
};
const kOptionFields: FieldsOf<UnpackOptions> = { stateDirectory: true, limits: true, signal: true };
const kLimitFields: FieldsOf<ImageLimits> = {
  ...{ maxBytes: true, maxEntries: true, maxLayers: true, maxPathBytes: true },
};
const kPlatformFields = { os: true, architecture: true, variant: true } as const;

function expectText(value: unknown, field: string): void {
  if (value === undefined) return;
  if (typeof value !== "string") throw invalidType(field, "a string", value);
  if (value === "" || value.includes("\0")) {
    throw invalidValue(
      `Expected \`${field}\` to be a text without NUL, got ${JSON.stringify(value)}`,
    );
  }
}

/** Checks and copies. */
function choiceOf(choice: ImageChoice): ImageChoice {
  expectFields(choice, "image", kChoiceFields);
  const { image, tag, digest, platform } = choice;
  if (image === undefined) throw invalidType("image", "a string", image);
  expectText(image, "image");
  expectText(tag, "tag");
  expectText(digest, "digest");
  if (platform !== undefined) {
    expectFields(platform, "platform", kPlatformFields);
    for (const [name, value] of Object.entries(platform)) expectText(value, `platform.${name}`);
  }
  return { image, tag, digest, platform: platform && { ...platform } };
}

function limitsOf(given: Partial<ImageLimits> = {}): ImageLimits {
  expectFields(given, "limits", kLimitFields);
  const limits = { ...kDefaultLimits };
  for (const name of Object.keys(kDefaultLimits) as (keyof ImageLimits)[]) {
    const value = given[name] ?? limits[name];
    if (typeof value !== "number") throw invalidType(`limits.${name}`, "a number", value);
    if (!Number.isSafeInteger(value) || value < 1) {
      const message = `Expected \`limits.${name}\` to be a whole number from 1, got ${value}`;
      throw Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
    }
    limits[name] = value;
  }
  return limits;
}

/** Where the image is read from, and what nobody may remove meanwhile. */
type Source = { choice: ImageChoice; lock: Lock | undefined };

/** A path, or a reference that `native-runner image pull` knows. */
async function sourceOf(choice: ImageChoice, store: ImageStore): Promise<Source> {
  const { image } = choice;
  const isPath = isAbsolute(image) || /^\.\.?(\/|$)/.test(image);
  const name = isPath ? undefined : store.name(image);
  const lock = name && (await store.use("layouts", name.digest));
  if (name && lock) {
    return { choice: { ...choice, image: join(lock.directory, "layout") }, lock };
  }
  const path = resolve(image);
  if (existsSync(path)) return { choice: { ...choice, image: path }, lock: undefined };
  const message = `there is no image ${JSON.stringify(image)}: no file or directory, and none that was pulled`;
  const fix = isPath
    ? "name an OCI layout, or an archive of an image"
    : `\`native-runner image pull ${image}\`, or name a path`;
  throw new ImageError(message, { code: "ERR_IMAGE_NOT_FOUND", fix });
}

/** The trees that this process unpacks now. */
const unpacking = new Map<string, Promise<unknown>>();

/**
 * Unpacks an image, unless that was done before, by whichever process and from whatever file: trees are kept by the
 * contents of their layers. Works on a thread of its own. Of processes that unpack the same one at once, one is heard.
 *
 * @param called what messages and lists call it. Default: `image`.
 * @throws (rejects) TypeError or RangeError for wrong values; {@link ImageError}; the reason of `signal`; errors of Node's
 *   file system.
 */
export async function useImage(
  choice: ImageChoice,
  options: UnpackOptions = {},
  called: string = choice?.image,
): Promise<UsedImage> {
  const meant = choiceOf(choice);
  expectFields(options, "options", kOptionFields);
  const limits = limitsOf(options.limits);
  const { stateDirectory, signal } = options;
  if (stateDirectory !== undefined && !isAbsolute(stateDirectory)) {
    const got = JSON.stringify(stateDirectory);
    throw invalidValue(`Expected \`stateDirectory\` to be an absolute path, got ${got}`);
  }
  signal?.throwIfAborted();
  const store = new ImageStore(stateDirectory);
  const source = await sourceOf(meant, store);
  const thread = startThread(signal, source);
  const made = store.make("trees");
  let lock: Lock | undefined;
  try {
    const find = thread.find(source.choice, made.directory, limits);
    const found = await find.catch((error: unknown) => {
      throw namingImage(error, called);
    });
    const unpack = () => unpackTree({ store, made, thread, found, image: called, limits });
    lock = (await store.use("trees", found.chain)) ?? (await onlyOnce(store, found, unpack));
    return usedImage(store, found, lock);
  } catch (error) {
    lock?.release();
    throw error;
  } finally {
    source.lock?.release();
    await thread.close();
    await store.discard(made);
  }
}

/** The caller may have aborted meanwhile. */
function startThread(signal: AbortSignal | undefined, { lock }: Source): UnpackThread {
  try {
    return new UnpackThread(signal);
  } catch (error) {
    lock?.release();
    throw error;
  }
}

function usedImage(store: ImageStore, { digest, config }: FoundImage, lock: Lock): UsedImage {
  store.noteUse(lock);
  const about = store.about(lock);
  if (about === undefined) {
    const message = `${lock.directory} was changed by somebody: it has no about.json`;
    throw new ImageError(message, { code: "ERR_IMAGE_STORE", fix: `remove ${lock.directory}` });
  }
  const { bytes, entries, leftOut } = about;
  const directory = join(lock.directory, "tree");
  return { directory, digest, config, bytes, entries, leftOut, release: () => lock.release() };
}

/** {@link useImage} for those who need it for a moment: it may be pruned any time. */
export async function unpackImage(
  choice: ImageChoice,
  options: UnpackOptions = {},
  called: string = choice?.image,
): Promise<UnpackedImage> {
  const { release, ...image } = await useImage(choice, options, called);
  release();
  return image;
}

type Task = {
  store: ImageStore;
  made: Lock;
  thread: UnpackThread;
  found: FoundImage;
  image: string;
  limits: ImageLimits;
};

async function unpackTree({ store, made, thread, found, image, limits }: Task): Promise<Lock> {
  await store.clean(thread);
  const tree = join(made.directory, "tree");
  const unpacked = await thread.unpack(found, tree, limits).catch((error: unknown) => {
    throw namingImage(error, image);
  });
  const about: AboutTree = { chain: found.chain, digest: found.digest, image, ...unpacked };
  await thread.remove([join(made.directory, "archive")]);
  store.writeAbout(made, about);
  return store.complete(made, "trees", found.chain);
}

/** Waits for the one of this process that unpacks the same. */
async function onlyOnce(
  store: ImageStore,
  { chain }: FoundImage,
  unpack: () => Promise<Lock>,
): Promise<Lock> {
  const place = store.place("trees", chain);
  for (let other = unpacking.get(place); other !== undefined; other = unpacking.get(place)) {
    await other.catch(() => {}); // it may be aborted: then it is our turn
    const lock = await store.use("trees", chain);
    if (lock !== undefined) return lock;
  }
  const own = unpack();
  unpacking.set(place, own);
  try {
    return await own;
  } finally {
    unpacking.delete(place);
  }
}

function namingImage(error: unknown, image: string): unknown {
  if (!(error instanceof ImageError) || error.code === "ERR_IMAGE_STORE") return error;
  const { message, code, fix } = error;
  return new ImageError(`the image ${JSON.stringify(image)} can't be used: ${message}`, {
    code,
    fix,
    cause: error,
  });
}
