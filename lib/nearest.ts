import leven from "leven";

const kLongestName = 64;
const kShortestPart = 3;

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
const lastPart = (path: string) => path.slice(path.lastIndexOf(".") + 1);
const isPart = (part: string, whole: string) =>
  part.length >= kShortestPart && whole.includes(part);

/**
 * The one of `choices` that `name` was most likely meant to be; undefined when none is close. Of a
 * path ("limits.timeoutMs") the last part counts; else as the addon's NearestName.
 */
export function nearest(name: string, choices: readonly string[]): string | undefined {
  if (name.length > kLongestName) return undefined;
  const meant = plain(name);
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  let found: string | undefined;
  for (const choice of choices) {
    const distance = leven(meant, plain(lastPart(choice)));
    if (distance >= least) continue;
    least = distance;
    found = choice;
  }
  return (
    found ??
    choices.find((choice) => {
      const other = plain(lastPart(choice));
      return isPart(meant, other) || isPart(other, meant);
    })
  );
}

/** "; did you mean …?", or nothing. */
export function suggestion(name: string, choices: readonly string[]): string {
  const meant = nearest(name, choices);
  return meant === undefined ? "" : `; did you mean \`${meant}\`?`;
}
