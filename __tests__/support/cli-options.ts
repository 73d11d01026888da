import type { CliOptions } from "../../lib/cli/options.js";

/** What the parser gives for a command line without options. */
export const kDefaultCliOptions: CliOptions = {
  workspace: ".",
  defaultRoBinds: true,
  envPolicy: "scrub",
  timeout: 60_000,
  stdin: true,
};
