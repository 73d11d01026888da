/**
 * Parses texts of the command line. Each function throws commander's InvalidArgumentError, which describes
 * the expected value.
 */

import { readFile } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";

import { InvalidArgumentError } from "commander";

import type {
  EnvironmentPolicy,
  HttpRule,
  NativeMount,
  NetworkPreset,
  SandboxCaches,
  SandboxHome,
  SandboxRoot,
  Secret,
} from "../../types/public.js";
import { nearest } from "../fields.js";
import { hostPortText, kPresetNames } from "../network.js";
import { LocalNativeRunner } from "../runners/local.js";
import { looksLikeHost, type Variables } from "../runtime/environment.js";
import { sealedSecrets } from "../secrets/policy.js";

/** Milliseconds after which a command that gives a secret's value has failed. */
const kMostSourceMs = 30_000;

function required<Value>(value: Value | undefined, expected: string): Value {
  if (value === undefined) throw new InvalidArgumentError(`Expected ${expected}.`);
  return value;
}

/** Returns milliseconds; "none" is Infinity. */
export function duration(text: string): number {
  return required(parseDuration(text), "a duration above 0 such as 500ms, 30s, 5m, 1h or none");
}

/** Returns milliseconds. */
export function finiteDuration(text: string): number {
  const value = duration(text);
  return required(Number.isFinite(value) ? value : undefined, "a duration such as 30s or 5m");
}

/** Returns bytes. */
export function size(text: string): number {
  return required(parseSize(text), "a size in bytes such as 4096, 64K, 512M or 2G");
}

/** Returns a whole number. */
export function count(text: string): number {
  return required(/^\d{1,15}$/.test(text) ? Number(text) : undefined, "a whole number");
}

const kMostPort = 65_535;

/** Returns a TCP port; 0 means any free port. */
export function port(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : undefined;
  return required(number !== undefined && number <= kMostPort ? number : undefined, "a port");
}

/** A port of the host, 0 for a free one, that leads to a port of the sandbox. */
export type PublishedPort = { hostPort: number; port: number };

/** Adds a published port: "8000", "3000:8000". */
export function published(text: string, previous: PublishedPort[] = []): PublishedPort[] {
  const expected = "PORT or HOSTPORT:PORT, such as 8000 or 3000:8000";
  const found = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text) ?? undefined;
  const [, hostPort = "0", port = ""] = required(found, expected);
  const made = { hostPort: Number(hostPort), port: Number(port) };
  const isPort = made.port > 0 && made.port <= kMostPort && made.hostPort <= kMostPort;
  return [...previous, required(isPort ? made : undefined, expected)];
}

/** Adds a variable; a name alone takes its value from this process. */
export function variable(text: string, previous: [string, string][] = []): [string, string][] {
  const parsed = parseVariable(text, process.env);
  return [...previous, required(parsed, "NAME=VALUE, or the NAME of a variable that is set")];
}

/** Adds a path. */
export function path(text: string, previous: string[] = []): string[] {
  return [...previous, required(text === "" ? undefined : text, "a path")];
}

/** Adds a device; the addon decides if it is one. */
export function device(text: string, previous: string[] = []): string[] {
  const expected = "a device such as /dev/kvm, nvidia, nvidia:0, dri, kfd, kvm, fuse or tun";
  return [...previous, required(text === "" ? undefined : text, expected)];
}

/** Adds a host; the addon decides if it is a valid name. */
export function host(text: string, previous: string[] = []): string[] {
  const expected = "a host such as a.test, a.test:8443, *.a.test or *.a.test:8443";
  return [...previous, required(looksLikeHost(text) ? text : undefined, expected)];
}

/** Adds a port of the host's loopback. */
export function hostPort(text: string, previous: string[] = []): string[] {
  const expected =
    "a port of the host's loopback such as 5432, 127.0.0.1:5432 or [::1]:5432; not 53 or 3128";
  return [...previous, required(hostPortText(text) && text, expected)];
}

/** Adds a preset. */
export function preset(text: string, previous: NetworkPreset[] = []): NetworkPreset[] {
  const found = kPresetNames.find((name) => name === text);
  return [...previous, required(found, `one of ${kPresetNames.join(", ")}`)];
}

const kSecret =
  /^(?<name>[A-Za-z_][A-Za-z0-9_]*)(?:=(?<kind>file|command):(?<from>.+))?@(?<hosts>[^@]+)$/s;

/** Adds a secret; a name alone takes its value from this process. The runner checks its hosts. */
export function secret(text: string, previous: Secret[] = []): Secret[] {
  const expected = "NAME@HOST[,HOST], NAME=file:PATH@HOST or NAME=command:COMMAND@HOST";
  const found = kSecret.exec(text)?.groups;
  const { name = "", kind, from = "", hosts = "" } = required(found, expected);
  const value = kind === undefined ? process.env[name] || undefined : sourceOf(kind, from);
  const given = required(value, `a variable ${name} that is set`);
  const [made] = sealedSecrets([{ name, value: given, hosts: hosts.split(",") }]) as [Secret];
  return [...previous, made];
}

/** Asks a file or a command for the value, when it is needed. */
function sourceOf(kind: string, from: string): () => Promise<string> {
  const readText = kind === "file" ? () => readFile(resolve(from), "utf8") : () => outputOf(from);
  return async () => (await readText()).replace(/\r?\n$/, "");
}

/** Runs a command line of the operator's on the host. */
async function outputOf(script: string): Promise<string> {
  const runner = new LocalNativeRunner({ shadowDir: process.cwd(), envPolicy: "inherit" });
  const argv = ["/bin/sh", "-c", script];
  const limits = { timeoutMs: kMostSourceMs };
  const { exitCode, outcome, stdoutText } = await runner.exec({ argv, limits });
  if (outcome.kind === "exited" && exitCode === 0) return stdoutText;
  throw new Error(`it ended with ${exitCode}`);
}

/** Adds a rule for requests; the runner checks it. */
export function httpRule(text: string, previous: HttpRule[] = []): HttpRule[] {
  const found = /^(?:(?<methods>[A-Z,]+) +)?(?<host>[^/ ]+)(?<path>\/[^ ]*)?$/.exec(text)?.groups;
  const expected = '"[METHOD[,METHOD] ]HOST[/PATH]" such as "GET api.a.test/v1/*"';
  const { methods, host: name = "", path: place } = required(found, expected);
  const rule = {
    host: name,
    ...(methods !== undefined && { methods: methods.split(",") }),
    ...(place !== undefined && { paths: [place] }),
  };
  return [...previous, rule];
}

/** Adds a mount. */
export function mount(text: string, previous: NativeMount[] = []): NativeMount[] {
  const expected = "HOST[:GUEST][:ro|rw], with an absolute GUEST and no colon in the paths";
  return [...previous, required(parseMount(text), expected)];
}

/** Returns the value of `home`; a text with a slash is a directory. */
export function home(text: string): SandboxHome {
  if (text.includes("/")) return { directory: resolve(text) };
  const found = (["none", "private", "kept"] as const).find((word) => word === text);
  return required(found, "none, private, kept, or a directory with a slash such as ./home");
}

/** Returns a root file system that is unpacked. */
export function root(text: string): SandboxRoot {
  return { directory: resolve(directory(text)) };
}

/** Returns an image with its variables, as commands of a container have them; the path of one is made absolute. */
export function image(text: string): SandboxRoot {
  const name = required(text === "" ? undefined : text, "an image's reference or path");
  return { image: /^\.\.?(\/|$)/.test(name) ? resolve(name) : name, env: true };
}

/** Returns the value of `caches`; the runner checks the names. */
export function caches(text: string): SandboxCaches {
  if (text === "none" || text === "host") return text;
  const names = text.split(",");
  return required(names.includes("") ? undefined : names, "none, host or NAME,NAME");
}

/** Returns a path; refuses the empty text that an unset variable yields. */
export function directory(text: string): string {
  const expected = "a directory; it is empty, as where a variable is not set";
  return required(text === "" ? undefined : text, expected);
}

/** Returns a path. */
export function file(text: string): string {
  return required(text === "" ? undefined : text, "a path");
}

/** Returns the policy for the host's environment. */
export function environmentPolicy(text: string): EnvironmentPolicy {
  const parsed = parseEnvironmentPolicy(text, process.env);
  if ("policy" in parsed) return parsed.policy;
  throw new InvalidArgumentError(`Expected ${parsed.expected}.`);
}

const kMilliseconds: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Parses "500ms", "30s", "1.5m", "1h", "7d" to milliseconds; a plain number is seconds, as in timeout(1); "none" is
 * Infinity. Returns undefined if the text is none of these or not above 0.
 */
export function parseDuration(text: string): number | undefined {
  if (text === "none") return Number.POSITIVE_INFINITY;
  const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? [];
  const factor = kMilliseconds[unit];
  if (number === undefined || factor === undefined) return undefined;
  const milliseconds = Math.ceil(Number(number) * factor);
  return milliseconds > 0 ? milliseconds : undefined;
}

/** Returns the shortest of the forms above: 90000 is "90s", 60000 "1m". */
export function formatDuration(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return "none";
  for (const unit of ["h", "m", "s"]) {
    const count = milliseconds / (kMilliseconds[unit] ?? 1);
    if (Number.isInteger(count)) return `${count}${unit}`;
  }
  return `${milliseconds}ms`;
}

/**
 * Parses "4096", "64K", "512M", "2G", "1T" to bytes; units are binary and may be written K, KB or KiB, in any
 * case. Returns undefined if the text is not such a size or not a whole number of bytes.
 */
export function parseSize(text: string): number | undefined {
  const [, number, prefix = ""] = /^(\d+(?:\.\d+)?)(?:([KMGT])(?:i?B)?|B)?$/i.exec(text) ?? [];
  if (number === undefined) return undefined;
  const bytes = Number(number) * 1024 ** " KMGT".indexOf(prefix.toUpperCase() || " ");
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/**
 * Returns name and value of "NAME=VALUE"; for "NAME" alone, the value is that in `host`. Returns undefined if
 * the name is empty or `host` does not have it.
 */
export function parseVariable(
  text: string,
  host: Readonly<Record<string, string | undefined>>,
): [name: string, value: string] | undefined {
  const equals = text.indexOf("=");
  const name = equals < 0 ? text : text.slice(0, equals);
  const value = equals < 0 ? host[name] : text.slice(equals + 1);
  return name === "" || value === undefined ? undefined : [name, value];
}

const isMode = (text: string | undefined) => text === "ro" || text === "rw";

/**
 * Parses a mount "HOST", "HOST:GUEST", "HOST:ro" or "HOST:GUEST:rw"; read-only by default. A relative host
 * path is resolved by this process. Returns undefined if the text is none of these, for example if a path has
 * a colon: a configuration file can name that.
 */
export function parseMount(text: string): NativeMount | undefined {
  const parts = text.split(":");
  const last = parts.at(-1);
  const mode = last === "rw" ? "rw" : "ro";
  if (parts.length > 1 && isMode(last)) parts.pop();
  const [host = "", guestPath, ...others] = parts;
  if (host === "" || others.length > 0) return undefined;
  const hostPath = resolve(host);
  if (guestPath === undefined) return { hostPath, mode };
  return isAbsolute(guestPath) ? { hostPath, guestPath, mode } : undefined;
}

const kWords = ["scrub", "inherit", "clean"] as const;

/** A policy, or the expected form of an invalid text. */
export type ParsedPolicy = { policy: EnvironmentPolicy } | { expected: string };

/**
 * Parses one of the words, or a comma-separated list of names to pass. A single name that looks like a
 * misspelled word is refused: taken for a variable's name, it would silently pass nothing.
 *
 * @param host the host's variables: each of them is accepted as a name.
 */
export function parseEnvironmentPolicy(text: string, host: Variables): ParsedPolicy {
  const word = kWords.find((each) => each === text);
  if (word !== undefined) return { policy: word };
  const names = text.split(",");
  if (!names.every((name) => /^[^=\s]+$/.test(name))) {
    return { expected: "scrub, inherit, clean or a comma list of names" };
  }
  const stray = names.find((name) => kWords.some((each) => each === name));
  if (stray !== undefined) return { expected: `names only in a list, and ${stray} by itself` };
  const [only] = names;
  if (names.length > 1 || only === undefined || host[only] !== undefined) return { policy: names };
  const meant = nearest(only, kWords);
  if (meant !== undefined) return { expected: `scrub, inherit or clean (did you mean ${meant}?)` };
  if (/^[a-z]+$/.test(only)) {
    return { expected: `scrub, inherit, clean or names; no variable ${only} is set here` };
  }
  return { policy: names };
}
