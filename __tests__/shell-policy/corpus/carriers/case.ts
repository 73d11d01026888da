/**
 * Programs that run what their words name, each with a use in which they run nothing but
 * themselves. The program is on the allow list, what it would run is not.
 */
export type CarrierCase = readonly [hostile: string, harmless: string];

/** What else the harmless commands name. */
const kMore = ["chrt", "ionice", "gcc"];
const kStart = /(?:^|[;|&{]\s*|\n)\s*(?:\w+=(?:'[^']*'|\S*)\s+)*([\w.+/-]+)/g;

/** The programs that a command names at the beginning of its parts, which a list then allows. */
export function programsOf(command: string): string[] {
  const found = [...command.matchAll(kStart)].map(([, name = ""]) => name);
  return [...kMore, ...found.filter((name) => !/^(?:reboot|evil|do|done|for)$/.test(name))];
}
