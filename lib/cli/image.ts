/** `native-runner image`: the images that are kept as root file systems. */

import { join } from "node:path";
import { type Command, Option, type OutputConfiguration } from "commander";
import pc from "picocolors";

import { ImageError } from "../errors.js";
import { ImageStore, type ListedImage, type Lock } from "../image/image-store.js";
import {
  kDefaultLimits,
  type LeftOut,
  type UnpackedImage,
  unpackImage,
} from "../image/unpack-image.js";
import { UnpackThread } from "../image/unpack-thread.js";
import { loadAddon } from "../native.js";
import { LocalNativeRunner } from "../runners/local.js";
import { formatSize, visibleLine } from "../text.js";
import { CliError, commandOutput, wantsColors, watchOutput } from "./terminal.js";
import { age } from "./transactions/tx.js";
import { directory, finiteDuration, size } from "./values.js";

type ImageOptions = { json?: boolean; stateDirectory?: string };
type PullOptions = ImageOptions & { tlsVerify?: "true" | "false"; maxSize?: number };
type PruneOptions = ImageOptions & { olderThan?: number; dryRun?: boolean };

/** The implementations of the commands. */
export type ImageActions = {
  imagePull(reference: string, options: PullOptions): Promise<void>;
  imageList(options: ImageOptions): Promise<void>;
  imagePrune(options: PruneOptions): Promise<void>;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const kInterrupted = 130;

/** Adds the commands. `say`: returns how parse errors are written, by the command's name. */
export function addImageCommand(
  program: Command,
  actions: ImageActions,
  say: (name: string) => OutputConfiguration,
): void {
  const image = program
    .command("image")
    .description("the images that are kept as root file systems")
    .usage("pull|list|prune [options] [REFERENCE]")
    .configureOutput(say("image"))
    .addHelpText(
      "after",
      `
Exit codes: 0 done; 2 misuse; 120 no such image; 125 it can't be pulled, unpacked or kept;
130 interrupted.

Examples:
  $ native-runner image pull docker.io/library/debian:12
  $ native-runner image pull --tls-verify=false localhost:5000/mine:1
  $ native-runner image list
  $ native-runner image prune --older-than 30d`,
    );
  const add = (name: string, description: string) =>
    image
      .command(name)
      .description(description)
      .option(
        "--state-directory <dir>",
        "where images are kept; default: openagentic/images in $XDG_STATE_HOME or ~/.local/state",
        directory,
      )
      .option("--json", "print JSON instead")
      .configureOutput(say(`image ${name}`));
  add("pull", "pull an image from a registry by skopeo, and unpack it")
    .argument(
      "<reference>",
      "NAME[:TAG] or NAME@DIGEST, with its registry: docker.io/library/debian:12",
    )
    .addOption(
      new Option(
        "--tls-verify <boolean>",
        "false: also from a registry without TLS, or with any certificate",
      )
        .choices(["true", "false"])
        .default("true"),
    )
    .option(
      "--max-size <size>",
      `most bytes that the image may have, unpacked; default: ${formatSize(kDefaultLimits.maxBytes)}`,
      size,
    )
    .action(actions.imagePull);
  add("list", "those on disk, the one that was used last first").action(actions.imageList);
  add("prune", "remove those that nobody uses, pulled and unpacked ones")
    .option("--older-than <time>", "only those that were used last before: 2h, 7d", finiteDuration)
    .option("--dry-run", "only say which")
    .action(actions.imagePrune);
}

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Returns the reference as skopeo takes it after "docker://". */
function checkedReference(text: string): string {
  const reference = text.replace(/^docker:\/\//, "");
  if (/^[A-Za-z0-9][A-Za-z0-9._:/@[\]-]*$/.test(reference)) return reference;
  const fix = "such as docker.io/library/debian:12";
  throw new CliError(`${visibleLine(text)} is no reference of an image`, 2, fix);
}

/** `image pull`: pulls an image, unpacks it, and prints its name. */
export async function imagePull(text: string, options: PullOptions): Promise<void> {
  watchOutput();
  const reference = checkedReference(text);
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  for (const signal of kSignals) process.once(signal, stop);
  try {
    const image = await pulled(reference, options, interrupt.signal);
    const { directory: tree, digest, bytes, entries, leftOut } = image;
    if (options.json) return print({ reference, digest, directory: tree, bytes, entries, leftOut });
    const line = leftOutLine(leftOut);
    if (line !== undefined) process.stderr.write(`native-runner: ${line}\n`);
    process.stdout.write(`${reference}\n`);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw new CliError("interrupted", kInterrupted);
  } finally {
    for (const signal of kSignals) process.off(signal, stop);
  }
}

async function pulled(
  reference: string,
  options: PullOptions,
  signal: AbortSignal,
): Promise<UnpackedImage> {
  const { stateDirectory, maxSize = kDefaultLimits.maxBytes } = options;
  const store = new ImageStore(stateDirectory);
  const thread = new UnpackThread(signal);
  const made = store.make("layouts");
  let lock: Lock = made;
  try {
    await copy(reference, made.directory, options, maxSize, signal);
    const choice = { image: join(made.directory, "layout") };
    const limits = { ...kDefaultLimits, maxBytes: maxSize };
    const { digest, chain } = await thread.find(choice, made.directory, limits);
    // First, so that nothing is kept of an image that can't be unpacked.
    const unpacked = await unpackImage(choice, { stateDirectory, limits, signal }, reference);
    lock = await store.complete(made, "layouts", digest);
    store.setName({ reference, digest, chain, pulledAt: Date.now() });
    return unpacked;
  } finally {
    if (lock !== made) lock.release();
    await thread.close();
    await store.discard(made);
    made.release();
  }
}

/** Has skopeo copy the image into `layout`, below the directory. */
async function copy(
  reference: string,
  into: string,
  { tlsVerify = "true", json }: PullOptions,
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  const skopeo = loadAddon().findProgram("skopeo");
  if (skopeo === null) {
    const fix =
      "install skopeo (Debian, Fedora, Arch and Alpine have it under this name), or save the image elsewhere " +
      "(`docker save`, `podman save --format oci-archive`) and name its file";
    throw new ImageError("there is no skopeo on PATH", { code: "ERR_IMAGE_PULL", fix });
  }
  const source = [`--src-tls-verify=${tlsVerify}`, `docker://${reference}`];
  const runner = new LocalNativeRunner({ shadowDir: into, envPolicy: "inherit" });
  const told = commandOutput();
  const { exitCode, outcome, stderrText } = await runner.exec({
    argv: [skopeo, "copy", ...source, "oci:layout:latest"],
    limits: { timeoutMs: Number.POSITIVE_INFINITY, maxFileBytes: maxBytes },
    ...(!json && { onStdout: told }),
    signal,
  });
  signal.throwIfAborted();
  if (outcome.kind === "exited" && exitCode === 0) return;
  const said = stderrText.trim().split("\n").at(-1) ?? "";
  const reason = /msg="((?:[^"\\]|\\.)*)"/.exec(said)?.[1]?.replaceAll('\\"', '"') ?? said;
  throw new ImageError(
    `${reference} can't be pulled: ${visibleLine(reason) || `skopeo: ${outcome.kind}`}`,
    {
      code: "ERR_IMAGE_PULL",
      ...(/HTTP response to HTTPS client|certificate|x509/.test(reason) && {
        fix: "for a registry that you trust without TLS: `--tls-verify=false`",
      }),
    },
  );
}

/** Says what the tree lacks; undefined: nothing. */
function leftOutLine({ devices, capabilities, setIds }: LeftOut): string | undefined {
  const all = [
    [devices, "devices"],
    [capabilities, "file capabilities"],
    [setIds, "setuid and setgid bits"],
  ] as const;
  const some = all.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return some.length > 0 ? `left out: ${some.join(", ")}` : undefined;
}

/** `image list`. */
export async function imageList(options: ImageOptions): Promise<void> {
  watchOutput();
  const images = new ImageStore(options.stateDirectory).list();
  if (options.json) print(images);
  else process.stdout.write(imagesText(images, Date.now(), wantsColors(process.stdout)));
}

/** Returns a line for each image, under a heading; ends with a newline. Pure. */
export function imagesText(
  images: readonly ListedImage[],
  now: number,
  useColors: boolean,
): string {
  if (images.length === 0) return "no images\n";
  const rows = images.map((image) => [
    image.digest.slice("sha256:".length, "sha256:".length + 12),
    image.pulledAt === undefined ? "no" : formatSize(image.pulledBytes),
    image.unpackedBytes === undefined ? "no" : formatSize(image.unpackedBytes),
    image.isUsed ? "now" : age(now - image.usedAt.getTime()),
    visibleLine(image.name),
  ]);
  const heading = ["DIGEST", "PULLED", "UNPACKED", "USED", "IMAGE"];
  const widths = heading.map((word, at) =>
    Math.max(word.length, ...rows.map((row) => (row[at] as string).length)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] as number)))
      .join("  ");
  return `${[pc.createColors(useColors).bold(line(heading)), ...rows.map(line)].join("\n")}\n`;
}

const bytesOf = ({ pulledBytes, unpackedBytes = 0 }: ListedImage) => pulledBytes + unpackedBytes;

/** `image prune`: removes images that nobody uses, and tells what that has freed. */
export async function imagePrune(options: PruneOptions): Promise<void> {
  watchOutput();
  const { olderThan = 0, dryRun = false, json } = options;
  const store = new ImageStore(options.stateDirectory);
  const { pruned, left, freedBytes } = await store.prune({
    unusedForMs: olderThan,
    isDryRun: dryRun,
  });
  if (json) return print({ dryRun, pruned, left, freedBytes });
  for (const image of pruned) {
    const verb = dryRun ? "would remove" : "removed";
    process.stdout.write(`${verb} ${visibleLine(image.name)} (${formatSize(bytesOf(image))})\n`);
  }
  for (const { name } of left) process.stdout.write(`left ${visibleLine(name)}: it is in use\n`);
  if (pruned.length + left.length === 0) process.stdout.write("nothing to prune\n");
  else process.stdout.write(`${dryRun ? "would free" : "freed"} ${formatSize(freedBytes)}\n`);
}
