/** Values of the operator's variables. Pure; each throws a TypeError that names the variable. */

import type { NetworkMode } from "../../types/public.js";
import { invalidValue } from "../errors.js";
import { suggestion } from "../nearest.js";

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The value; an empty one counts as not set. */
export function readText(variables: Variables, name: string): string | undefined {
  const value = variables[name];
  return value === "" ? undefined : value;
}

/** The error for a value that is not known. */
export function oneOf(name: string, value: string, values: readonly string[]): TypeError {
  const choices = values.join(", ");
  return invalidValue(`${name}=${value} is not one of ${choices}${suggestion(value, values)}`);
}

/** "1" is true; "0", "" and nothing are false. */
export function readFlag(variables: Variables, name: string): boolean {
  const value = readText(variables, name);
  if (value === undefined || value === "0") return false;
  if (value === "1") return true;
  throw oneOf(name, value, ["0", "1"]);
}

/** "allow" or "deny". */
export function readNetwork(variables: Variables, name: string): NetworkMode | undefined {
  const value = readText(variables, name);
  if (value === undefined || value === "allow" || value === "deny") return value;
  throw oneOf(name, value, ["allow", "deny"]);
}

/** A comma list of absolute paths. */
export function readPaths(variables: Variables, name: string): string[] | undefined {
  const value = readText(variables, name);
  if (value === undefined) return undefined;
  const paths = value.split(",").map((path) => path.trim());
  const named = paths.filter((path) => path !== "");
  if (named.length > 0 && named.every((path) => path.startsWith("/"))) return named;
  throw invalidValue(`${name}=${value} is not a comma list of absolute paths`);
}

/** The shape of an entry; whether it is a name the addon says. */
const kHost = /^(\*\.)?[^\s:/@*%?#[\]\\]+(:[0-9]{1,5})?$/u;

/** Whether a text could be an entry of `network.allow`. */
export function looksLikeHost(text: string): boolean {
  return kHost.test(text) && !text.includes("\0");
}

/** A comma list of hosts, as `network.allow` has them. */
export function readHosts(variables: Variables, name: string): string[] | undefined {
  const value = readText(variables, name);
  if (value === undefined) return undefined;
  const hosts = value
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");
  if (hosts.length > 0 && hosts.every(looksLikeHost)) return hosts;
  throw invalidValue(
    `${name}=${value} is not a comma list of hosts ("host", "host:port", "*.domain")`,
  );
}
