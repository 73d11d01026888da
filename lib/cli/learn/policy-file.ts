/** The policy file that several runs of `learn` extend. */

import { randomBytes } from "node:crypto";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import type { Grant, NativeMount, NetworkByDomain } from "../../../types/public.js";
import { cliOf } from "../../denials/advice-lists.js";
import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import type { RuntimeConfig, RuntimeConfigInput } from "../../runtime/config.js";
import { parseConfigText, parseRuntimeConfig } from "../../runtime/parse-config.js";
import { CliError } from "../terminal.js";
import { type Learned, type LearnedGrant, optionsOf } from "./rounds.js";

const kNewMode = 0o644;

/** A file in its previous state. */
export type PolicyFile = {
  /** The path after following links. */
  path: string;
  /** Its text; undefined if the file does not exist. */
  text: string | undefined;
};

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** @throws (rejects) CliError for a file that `learn` did not write, or that can't be read. */
export async function readPolicyFile(name: string): Promise<PolicyFile> {
  const path = resolve(name);
  let text: string;
  try {
    text = (await readRegularFile(path, kMaxConfigBytes)).toString("utf8");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") {
      throw new CliError(`--into ${name}: ${(error as Error).message}`, 2, "name another file");
    }
    await expectDirectory(name, dirname(path));
    return { path, text: undefined };
  }
  if (!text.startsWith(`${kPolicyHeader}\n`)) {
    throw new CliError(
      `--into ${name}: learn has not written this file: its first line is not "${kPolicyHeader}"`,
      2,
      "name another file; --config FILE starts from a configuration that is there",
    );
  }
  return { path: await realpath(path), text };
}

async function expectDirectory(name: string, path: string): Promise<void> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory) throw new CliError(`--into ${name}: ${path} is no directory`, 2, "create it");
}

/** Parses its contents. @throws TypeError naming the error in it. */
export function learnedBefore({ path, text = "{}" }: PolicyFile): {
  config: RuntimeConfig;
  grants: Learned[];
} {
  const config = parseConfigText(text, path);
  return { config, grants: grantsIn(config, text) };
}

/**
 * Replaces the file's contents atomically.
 * @throws (rejects) CliError if the file has changed since it was read; file system errors.
 */
export async function writePolicyFile(file: PolicyFile, text: string): Promise<void> {
  const { path } = file;
  const mode = await stat(path).then(
    ({ mode }) => mode & 0o777,
    () => kNewMode,
  );
  const staged = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);
  try {
    const handle = await open(staged, "wx", mode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const now = await readPolicyFile(path);
    if (now.text !== file.text) {
      throw new CliError(
        `${path} was changed while this ran, and is left as it is`,
        1,
        "try again",
      );
    }
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true });
    throw error;
  }
}

/**
 * Formats a policy file: a configuration as `--config` reads it, with the reasons for each grant above it.
 * Pure.
 */

/** The first line, which identifies the file. */
const kPolicyHeader = "// native-runner policy 1";

const kAbout = [
  "// Learned by `native-runner learn` from what the command was denied. Read it before you use it:",
  "// `native-runner run --config FILE` and `doctor --config FILE` take it as it is.",
];

/** Returns the parts of a configuration that differ from the default. */
export function notDefault(config: RuntimeConfig): RuntimeConfigInput {
  const differing = (value: object, defaults: object): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
        const usual = (defaults as Record<string, unknown>)[name];
        if (field === undefined || isDeepStrictEqual(field, usual)) return [];
        if (name === "network") return [[name, withoutSecrets(field)]];
        const isSection = isPlain(field) && isPlain(usual);
        return [[name, isSection ? differing(field, usual) : field]];
      }),
    );
  return differing(config, parseRuntimeConfig({})) as RuntimeConfigInput;
}

/** Values are in no file that this writes; `run` is given --secret again. */
function withoutSecrets(network: unknown): unknown {
  if (!isPlain(network)) return network;
  const { secrets: _, ...rest } = network as Partial<NetworkByDomain>;
  return rest;
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Omits the guest path if it equals the host path. */
function shortMount({ hostPath, guestPath, mode, label }: NativeMount): NativeMount {
  const guest = guestPath === undefined || guestPath === hostPath ? {} : { guestPath };
  return { hostPath, ...guest, mode, ...(label === undefined ? {} : { label }) };
}

/** Returns a value on one line, in the form of list entries. */
function inline(value: unknown): string {
  if (!isPlain(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}: ${inline(field)}`,
  );
  return `{ ${fields.join(", ")} }`;
}

/** Returns the form of a grant in the file. */
function entryOf(grant: LearnedGrant): string {
  return inline(grant.option === "mounts" ? shortMount(grant.value) : grant.value);
}

type Reasons = ReadonlyMap<string, readonly string[]>;

function written(value: unknown, indent: string, reasons: Reasons): string {
  const inner = `${indent}  `;
  if (Array.isArray(value) && value.length > 0) {
    const items = value.map((item) => {
      const entry = inline(item);
      const why = (reasons.get(entry) ?? []).map((line) => `${inner}// ${line}\n`);
      return `${why.join("")}${inner}${entry}`;
    });
    return `[\n${items.join(",\n")}\n${indent}]`;
  }
  if (isPlain(value)) {
    const fields = Object.entries(value).map(
      ([name, field]) => `${inner}${JSON.stringify(name)}: ${written(field, inner, reasons)}`,
    );
    return fields.length === 0 ? "{}" : `{\n${fields.join(",\n")}\n${indent}}`;
  }
  return JSON.stringify(value);
}

/** Returns the text of a policy file. `config` already includes the grants. */
export function policyText(config: RuntimeConfig, grants: readonly Learned[]): string {
  const reasons = new Map(grants.map(({ grant, reasons }) => [entryOf(grant), reasons]));
  const input = notDefault(config);
  const { mounts } = input.bubblewrap ?? {};
  const short =
    mounts === undefined
      ? input
      : { ...input, bubblewrap: { ...input.bubblewrap, mounts: mounts.map(shortMount) } };
  const options = optionsOf(grants);
  const asOptions = options.length === 0 ? [] : [`// As options: ${options.join(" ")}`];
  const head = [kPolicyHeader, ...kAbout, ...asOptions.filter((line) => !/[\r\n]/.test(line))];
  return `${head.join("\n")}\n${written(short, "", reasons)}\n`;
}

/** Returns the reasons above each entry of a file that {@link policyText} wrote, by the entry. */
export function reasonsIn(text: string): Map<string, string[]> {
  const reasons = new Map<string, string[]>();
  let above: string[] = [];
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line.startsWith("//")) {
      above.push(line.slice(2).trim());
      continue;
    }
    if (above.length > 0) reasons.set(line.replace(/,$/, ""), above);
    above = [];
  }
  return reasons;
}

/** Returns the grants of a configuration, with the reasons that a file's text has for them. */
function grantsIn(config: RuntimeConfig, text: string): Learned[] {
  const reasons = reasonsIn(text);
  const network = config.bubblewrap.network ?? config.network;
  const hosts = typeof network === "object" ? (network.allow ?? []) : [];
  const grants = [
    ...config.bubblewrap.mounts.map((value) => ({ option: "mounts" as const, value })),
    ...hosts.map((value) => ({ option: "network.allow" as const, value })),
  ];
  return grants.map((grant) => {
    const whole = { ...grant, cli: cliOf(grant as Grant) } as LearnedGrant;
    return { grant: whole, reasons: reasons.get(entryOf(whole)) ?? [] };
  });
}
