/** The grammar of `native-runner review`. Parsing only. */

import type { Command } from "commander";

import { withAuditOption } from "../audit/audit-option.js";
import { withStateDirectory } from "../transactions/tx-command.js";
import { port } from "../values/option-values.js";
import type { ReviewCliOptions } from "./review.js";

/** Adds it to an empty command. */
export function addReviewCommand(
  command: Command,
  action: (id: string | undefined, options: ReviewCliOptions) => Promise<void>,
): Command {
  return withAuditOption(withStateDirectory(command))
    .usage("[options] [TRANSACTION]")
    .argument("[transaction]", "its id, or enough of its beginning; default: this directory's last")
    .description("serve a page on which a person reviews, commits, discards and undoes changes")
    .option("--port <port>", "where on 127.0.0.1; default: any that is free", port)
    .option("--open", "open the page in a browser")
    .option("--approved-by <name>", "who has approved, for the record of what is committed")
    .addHelpText(
      "after",
      `
The page's address has a token: whoever knows it may commit. The page is served until SIGINT, or
until the transaction is discarded; what was not committed waits.
Exit codes: as those of \`native-runner tx\`.

Examples:
  $ native-runner run --transaction -- npm install
  $ native-runner review --open
  $ native-runner review 4be8 --port 7788`,
    )
    .action((id: string | undefined, options: ReviewCliOptions) => action(id, options));
}
