// What a platform may leave out. Anything else that is left out there is a failure: a wall that has
// silently become impossible must not pass as a line in a table.

const kByName = [
  {
    // No --perms, no --disable-userns (bwrap 0.5 and 0.8), no --bind-fd (0.9).
    holds: (name) => /^bwrap 0\.[1-4]\./.test(name),
    checks: [
      'bubblewrap: {"procBind":false}',
      'bubblewrap: {"required":["seccomp","userns-disabled"]}',
      "bubblewrap: a prewarmed sandbox",
      "bubblewrap: a cloned sandbox",
      "bubblewrap: a transaction by overlay",
    ],
  },
  {
    // Landlock came with 5.13, overlays of a user namespace and their attributes with 5.11.
    holds: (name) => name.startsWith("Linux 5.10 "),
    checks: [
      "landlock: a command",
      "bubblewrap: a transaction by overlay",
      'bubblewrap: {"layers":["landlock"]}',
      'bubblewrap: {"layers":["landlock"],"required":["landlock-fs"]}',
    ],
  },
];

/**
 * Root's processes, and those without a user namespace, are counted by a cgroup alone, which a machine
 * may not have to give.
 */
const kCount = "the count of processes is limited: ";
const isCount = (user, line) =>
  line.startsWith(`landlock: ${kCount}`) || (user === "root" && line.includes(`: ${kCount}`));

/** The lines of `leftOut` that no platform of this name is known to leave out. */
export function unexpected(name, user, leftOut) {
  const known = kByName.filter(({ holds }) => holds(name)).flatMap(({ checks }) => checks);
  const isKnown = (line) =>
    known.some((check) => line.startsWith(`${check}: `)) || isCount(user, line);
  return leftOut.filter((line) => !isKnown(line));
}
