/** The flags of runner options, as lib/options.ts describes them. */

import { Option } from "commander";

import { kAllOfBubblewrap, namesWith, type OptionValue } from "../options.js";
import type { BubblewrapConfig } from "../runtime/config.js";
import { caches, count, file, home, root } from "./values.js";

const kFlagged = namesWith("flag", kAllOfBubblewrap);

/** Returns the flag of an option. Lists and filters have parsers of their own, which the caller adds. */
export function flagOf(name: (typeof kFlagged)[number]): Option {
  const { syntax, help } = kAllOfBubblewrap[name].flag;
  const value = kAllOfBubblewrap[name].value as OptionValue;
  const option = new Option(syntax, help);
  switch (value.kind) {
    case "word":
      return option.choices(value.words);
    case "home":
      return option.argParser(home);
    case "caches":
      return option.argParser(caches);
    case "root":
      return option.argParser(root);
    case "tools":
      return option.choices(["none", "host"]);
    case "network":
      return option.choices(["allow", "deny"]);
    case "path":
    case "program":
      return option.argParser(file);
    case "count":
      return option.argParser(count);
    default:
      return option;
  }
}

/** Options of Bubblewrap whose flag takes the place of the configuration's value. */
export const kReplacing = kFlagged.filter((name) => "replaces" in kAllOfBubblewrap[name].flag);

/** Returns the values of these flags among parsed options, by the names of the runner's options. */
export function replacing(options: object): Partial<BubblewrapConfig> {
  const values = kReplacing.map(
    (name) => [name, (options as Record<string, unknown>)[flagOf(name).attributeName()]] as const,
  );
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Returns the flag as it is written: "--bwrap". */
export function writtenFlag(name: (typeof kFlagged)[number]): string {
  return flagOf(name).long ?? "";
}
