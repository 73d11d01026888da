import { closestMatch } from "leven";

/** The one of `choices` that `name` was most likely meant to be; undefined when none is close. */
export function nearest(name: string, choices: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const byPlain = new Map(choices.map((choice) => [plain(choice), choice]));
  const maxDistance = Math.max(2, Math.floor(name.length / 3));
  const found = closestMatch(plain(name), [...byPlain.keys()], { maxDistance });
  return found === undefined ? undefined : byPlain.get(found);
}

/** "; did you mean …?", or nothing. */
export function suggestion(name: string, choices: readonly string[]): string {
  const meant = nearest(name, choices);
  return meant === undefined ? "" : `; did you mean \`${meant}\`?`;
}
