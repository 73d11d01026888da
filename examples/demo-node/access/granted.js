/** Grants that were given, and what a runner and a call have to have for them. */

import { lstatSync } from "node:fs";

/**
 * @typedef {import("@openagentic/native-runner").Grant} Grant
 * @typedef {import("@openagentic/native-runner").NativeLimits} NativeLimits
 * @typedef {{ hostPath: string, guestPath: string, mode: "ro" | "rw" }} Mount
 */

const kLimits = "limits.";

/**
 * Whether the demo knows how to give it. Connections are asked about as they are made (network/), and
 * what the operator has set for all commands is the operator's.
 * @param {Grant} grant
 */
export function canGive({ option }) {
  return ["mounts", "fsReadDirs", "fsWriteDirs"].includes(option) || option.startsWith(kLimits);
}

/**
 * @param {Grant} grant
 * @returns {Mount[]}
 */
function mountOf(grant) {
  if (grant.option === "mounts") {
    const { hostPath, guestPath = hostPath, mode } = grant.value;
    return [{ hostPath, guestPath, mode }];
  }
  if (grant.option !== "fsReadDirs" && grant.option !== "fsWriteDirs") return [];
  const { option, value } = grant;
  return [{ hostPath: value, guestPath: value, mode: option === "fsReadDirs" ? "ro" : "rw" }];
}

/**
 * Whether one of two absolute paths is, or lies below, the other.
 * @param {string} one
 * @param {string} other
 */
function overlap(one, other) {
  const [shorter = "", longer = ""] = [one, other]
    .map((path) => (path.endsWith("/") ? path : `${path}/`))
    .sort((a, b) => a.length - b.length);
  return longer.startsWith(shorter);
}

/**
 * Whether a grant would open one of these host paths, or what is below it: the project itself, which
 * commands would then write to past the transaction.
 * @param {Grant} grant
 * @param {readonly string[]} places real paths
 */
export function reaches(grant, places) {
  return mountOf(grant).some(({ hostPath }) => places.some((place) => overlap(hostPath, place)));
}

/** @param {Mount} mount */
const isThere = ({ hostPath }) => lstatSync(hostPath, { throwIfNoEntry: false }) !== undefined;

/**
 * What these grants mount: each place once, the last grant for it wins, and what holds another comes
 * before it. What is gone from the host meanwhile is left out: commands could not start otherwise.
 * @param {readonly Grant[]} grants
 */
export function mountsOf(grants) {
  const places = new Map(grants.flatMap(mountOf).map((mount) => [mount.guestPath, mount]));
  return [...places.values()]
    .filter(isThere)
    .sort((one, other) => one.guestPath.length - other.guestPath.length);
}

/**
 * The limits of a call with what these grants raise.
 * @param {NativeLimits} limits
 * @param {readonly Grant[]} grants
 * @returns {NativeLimits}
 */
export function raised(limits, grants) {
  const raises = grants.flatMap(({ option, value }) =>
    option.startsWith(kLimits) ? [[option.slice(kLimits.length), value]] : [],
  );
  return { ...limits, ...Object.fromEntries(raises) };
}
