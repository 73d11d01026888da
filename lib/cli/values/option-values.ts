/**
 * Texts of the command line as values. Each throws commander's InvalidArgumentError, which says what
 * was expected.
 */

import { InvalidArgumentError } from "commander";

import type { EnvironmentPolicy, NativeMount, NetworkPreset } from "../../../types/public.js";
import { kPresetNames } from "../../network/presets.js";
import { looksLikeHost } from "../../runtime/environment-values.js";
import { parseDuration } from "./duration.js";
import { parseEnvironmentPolicy } from "./environment-policy.js";
import { parseMount } from "./mount.js";
import { parseSize } from "./size.js";
import { parseVariable } from "./variable.js";

function required<Value>(value: Value | undefined, expected: string): Value {
  if (value === undefined) throw new InvalidArgumentError(`Expected ${expected}.`);
  return value;
}

/** Milliseconds; "none" is Infinity. */
export function duration(text: string): number {
  return required(parseDuration(text), "a duration above 0 such as 500ms, 30s, 5m, 1h or none");
}

/** Milliseconds. */
export function finiteDuration(text: string): number {
  const value = duration(text);
  return required(Number.isFinite(value) ? value : undefined, "a duration such as 30s or 5m");
}

/** Bytes. */
export function size(text: string): number {
  return required(parseSize(text), "a size in bytes such as 4096, 64K, 512M or 2G");
}

/** A whole number. */
export function count(text: string): number {
  return required(/^\d{1,15}$/.test(text) ? Number(text) : undefined, "a whole number");
}

const kMostPort = 65_535;

/** A TCP port; 0 is any that is free. */
export function port(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : undefined;
  return required(number !== undefined && number <= kMostPort ? number : undefined, "a port");
}

/** One more of the variables; a name alone has this process's value. */
export function variable(text: string, previous: [string, string][] = []): [string, string][] {
  const parsed = parseVariable(text, process.env);
  return [...previous, required(parsed, "NAME=VALUE, or the NAME of a variable that is set")];
}

/** One more of the paths. */
export function path(text: string, previous: string[] = []): string[] {
  return [...previous, required(text === "" ? undefined : text, "a path")];
}

/** One more of the hosts; whether it is a name the addon says. */
export function host(text: string, previous: string[] = []): string[] {
  const expected = "a host such as a.test, a.test:8443, *.a.test or *.a.test:8443";
  return [...previous, required(looksLikeHost(text) ? text : undefined, expected)];
}

/** One more of the presets. */
export function preset(text: string, previous: NetworkPreset[] = []): NetworkPreset[] {
  const found = kPresetNames.find((name) => name === text);
  return [...previous, required(found, `one of ${kPresetNames.join(", ")}`)];
}

/** One more of the mounts. */
export function mount(text: string, previous: NativeMount[] = []): NativeMount[] {
  const expected = "HOST[:GUEST][:ro|rw], with an absolute GUEST and no colon in the paths";
  return [...previous, required(parseMount(text), expected)];
}

/** A path, which a variable that is not set does not give. */
export function directory(text: string): string {
  const expected = "a directory; it is empty, as where a variable is not set";
  return required(text === "" ? undefined : text, expected);
}

/** A path. */
export function file(text: string): string {
  return required(text === "" ? undefined : text, "a path");
}

/** What of the host's environment passes. */
export function environmentPolicy(text: string): EnvironmentPolicy {
  const parsed = parseEnvironmentPolicy(text, process.env);
  if ("policy" in parsed) return parsed.policy;
  throw new InvalidArgumentError(`Expected ${parsed.expected}.`);
}
