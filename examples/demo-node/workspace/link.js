import path from "node:path";

/**
 * Whether a symbolic link may lead out of the tree that it lies in. Judged by its text alone, so it
 * holds wherever the tree lies: the directories above a link are real ones (no look follows one),
 * which makes leading ".." exact; ".." after a name could leave through another link.
 *
 * @param {string} place the link's path, relative to the tree's root
 * @param {string} target what it points to
 */
export function leavesTree(place, target) {
  if (target === "" || path.isAbsolute(target)) return true;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const firstName = parts.findIndex((part) => part !== "..");
  const up = firstName === -1 ? parts.length : firstName;
  const depth = place.split("/").length - 1;
  return up > depth || parts.indexOf("..", up) !== -1;
}
